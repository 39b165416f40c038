//! The vault's signing key in its file: made at the first start, and never again.
//!
//! Every node has learnt it when it joined. Without it nothing that is kept can be handed out, so it
//! is on the disk, whole, before it is used.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use mesh_seal::{NoRandomness, ParseError, Randomness, Secret, SigningKey};
use zeroize::Zeroizing;

use crate::store::{Followed, RedbStore, Store as _, StoreError, store_file};

const NAME: &str = "signing.key";

/// The signing key could not be read or made.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file could not be read or written.
    #[error("the vault's signing key could not be {done} at {path}")]
    File {
        /// `read` or `written`.
        done: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{path} does not hold the vault's signing key")]
    NotAKey {
        /// Where.
        path: PathBuf,
        /// What it should be.
        source: ParseError,
    },
    /// It is gone, and what it signed is there.
    #[error("the vault's signing key {path} is gone, and what it signed is there")]
    Gone {
        /// Where it was.
        path: PathBuf,
    },
    /// What it signed is gone, or cannot be made.
    #[error("the vault's signing key is there without its store")]
    Store {
        /// Why.
        #[from]
        source: StoreError,
    },
    /// No key could be made.
    #[error("the vault's signing key could not be made")]
    Make {
        /// Why.
        #[from]
        source: NoRandomness,
    },
}

/// The key in a folder; made, with the folder and the store beside it, where there is none.
///
/// A key that is gone is not made again where the store holds what it signed: that would make every secret again, and a
/// running database has been started with the old ones. For the same reason a store that is made where there is a key says
/// that it is not the first ([`Followed::is_lost`]). The store is made before the key, so that a start that is cut off leaves an empty
/// one at most.
pub fn signing_key(folder: &Path, random: &mut dyn Randomness) -> Result<SigningKey, KeyError> {
    let path = folder.join(NAME);
    match fs::read(&path).map(Zeroizing::new) {
        Ok(text) => {
            let key = SigningKey::from_text(&Secret::new(text.to_vec()))
                .map_err(|source| KeyError::NotAKey { path, source })?;
            if !RedbStore::is_there(&store_file(folder))? {
                // What it kept is in the log that others follow, or lost: whoever takes the seat finds out.
                RedbStore::open(&store_file(folder))?
                    .follow(Followed { is_lost: true, ..Followed::default() })?;
            }
            Ok(key)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|source| KeyError::File { done: "written", path: path.clone(), source })?;
            let store = RedbStore::open(&store_file(folder))?;
            if !(store.kept()?.is_empty() && store.pins()?.is_empty()) {
                return Err(KeyError::Gone { path });
            }
            drop(store);
            let key = SigningKey::generate(random)?;
            let written = write(folder, &path, &key.to_text());
            written.map_err(|source| KeyError::File { done: "written", path, source })?;
            Ok(key)
        }
        Err(source) => Err(KeyError::File { done: "read", path, source }),
    }
}

/// Whole or not at all, for its owner alone, and on the disk.
fn write(folder: &Path, path: &Path, text: &Secret) -> io::Result<()> {
    let beside = folder.join(".signing.key.new");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(text.expose())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;

//! Makes a folder hold exactly the wanted files, beside whatever others keep there.
//!
//! Which files are ours is written down in a ledger outside the folder: before anything is written it names the old
//! ones and the new ones, afterwards the new ones alone. So a crash at any step leaves nothing behind that
//! the next run does not know.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use rustix::{fs::AtFlags, io::Errno};
use serde::{Deserialize, Serialize};

use super::{
    Error, FileToWrite,
    beneath::{Folder, Missing},
    write_all,
};

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Ledger {
    files: BTreeSet<PathBuf>,
}

/// Makes the files that the ledger at `ledger` knows below `root` exactly those that are `wanted`, and says which
/// were changed or removed. Both folders must be there. Without any wanted, the ledger goes too.
///
/// # Errors
/// As [`write_all`]; what could not be removed is tried again at the next call.
pub fn replace(root: &Path, ledger: &Path, wanted: &[FileToWrite<'_>]) -> Result<Vec<PathBuf>, Error> {
    let old = read(ledger)?;
    let new = Ledger { files: wanted.iter().map(|file| file.path.to_owned()).collect() };
    let both = Ledger { files: old.files.union(&new.files).cloned().collect() };
    if both != old {
        write(ledger, &both)?;
    }
    let mut changed = write_all(root, wanted)?;
    for path in old.files.difference(&new.files) {
        remove(root, path)?;
        changed.push(path.clone());
    }
    if new.files.is_empty() {
        forget(ledger)?;
    } else if new != both {
        write(ledger, &new)?;
    }
    Ok(changed)
}

fn read(path: &Path) -> Result<Ledger, Error> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(Error::doing("understand the ledger", path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Ledger::default()),
        Err(error) => Err(Error::doing("read", path)(error)),
    }
}

fn write(path: &Path, ledger: &Ledger) -> Result<(), Error> {
    let content = serde_json::to_vec(ledger).map_err(Error::doing("write", path))?;
    let outside = || Error::Outside { path: path.to_owned() };
    let folder = path.parent().ok_or_else(outside)?;
    let name = Path::new(path.file_name().ok_or_else(outside)?);
    write_all(folder, &[FileToWrite { path: name, content: &content, mode: 0o600, owner: None }])?;
    Ok(())
}

fn forget(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::doing("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes one file, and the folders above it below the root that are empty then.
fn remove(root: &Path, path: &Path) -> Result<(), Error> {
    if let Some((folder, name)) = Folder::parent_of(root, path, Missing::Leave)? {
        // What a writer that was killed has left; as a rule there is none.
        let _ = rustix::fs::unlinkat(&folder.fd, super::writer::unfinished(name), AtFlags::empty());
    }
    let mut path = path;
    let mut flags = AtFlags::empty();
    loop {
        let Some((folder, name)) = Folder::parent_of(root, path, Missing::Leave)? else { return Ok(()) };
        match rustix::fs::unlinkat(&folder.fd, name, flags) {
            Ok(()) => folder.sync()?,
            Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) if flags == AtFlags::REMOVEDIR => return Ok(()),
            Err(errno) => return Err(Error::doing("remove", &folder.path.join(name))(errno)),
        }
        match path.parent() {
            Some(above) if !above.as_os_str().is_empty() => path = above,
            _ => return Ok(()),
        }
        flags = AtFlags::REMOVEDIR;
    }
}

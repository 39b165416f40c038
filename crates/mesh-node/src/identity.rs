//! Who a node is: its keys, made on its machine, and what it learnt of the mesh when it joined.
//!
//! Below the node's state folder in `identity/`, every file of mode 0600: `sealing.key`, `digest.key`, `bus.creds`,
//! `signer.pub`, `mesh`. The two keys are made once, before anything is sealed to them, and never leave the machine.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use mesh_bus::Creds;
use mesh_model::name::MeshName;
use mesh_seal::{DigestKey, NoRandomness, ParseError, SealingKey, Secret, SystemRandom, VerifyingKey};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::files::{self, FileToWrite};

/// A node's keys, and what it learnt when it joined.
pub struct Identity {
    /// Opens what is sealed to the node.
    pub sealing: SealingKey,
    /// Digests what holds secrets.
    pub digests: DigestKey,
    /// What it learnt when it joined; none before.
    pub joined: Option<Joined>,
}

/// What a node learnt when it joined.
#[derive(Clone)]
pub struct Joined {
    /// The mesh.
    pub mesh: MeshName,
    /// The key that the mesh's vault signs with.
    pub signer: VerifyingKey,
    /// Its account on the bus.
    pub creds: Creds,
}

/// What went wrong with which file of the identity.
#[derive(Debug, Error)]
pub enum Error {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's word.
        #[source]
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot keep the identity of the node")]
    Write(#[source] files::Error),
    /// It does not hold what it should.
    #[error("{} is damaged: it is not {expected}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        expected: &'static str,
    },
    /// A key is gone, though the node has joined.
    #[error("{} is gone, and the node has joined with it: put it back", path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// There is no randomness to make a key from.
    #[error("cannot make a key")]
    Randomness(#[source] NoRandomness),
}

impl Identity {
    /// Reads the identity below a node's state folder, and makes the keys that are missing.
    ///
    /// # Errors
    /// Where a file cannot be read or written, or is damaged: a sealing key that is damaged, or gone after the node has
    /// joined, is never made anew, since everything that was sealed to it would be lost. The other key only compares: when
    /// it is gone, services are started anew once.
    pub fn open(state: &Path) -> Result<Self, Error> {
        let folder = Folder(state.join("identity"));
        let joined = folder.joined()?;
        let sealing = match folder.secret("sealing.key")? {
            Some(text) => folder.parsed("sealing.key", SealingKey::from_text(&text))?,
            None if folder.has_joined() => return Err(Error::Gone { path: folder.0.join("sealing.key") }),
            None => {
                let key = SealingKey::generate();
                folder.write("sealing.key", key.to_text().expose())?;
                key
            }
        };
        let digests = match folder.secret("digest.key")? {
            Some(text) => folder.parsed("digest.key", DigestKey::from_text(&text))?,
            None => {
                let key = DigestKey::generate(&mut SystemRandom).map_err(Error::Randomness)?;
                folder.write("digest.key", key.to_text().expose())?;
                key
            }
        };
        Ok(Self { sealing, digests, joined })
    }

    /// Keeps what the node learnt when it joined.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn join(&mut self, state: &Path, joined: Joined) -> Result<(), Error> {
        let folder = Folder(state.join("identity"));
        folder.write("mesh", joined.mesh.as_str().as_bytes())?;
        folder.write("signer.pub", joined.signer.to_string().as_bytes())?;
        folder.write("bus.creds", joined.creds.to_text().as_bytes())?;
        self.joined = Some(joined);
        Ok(())
    }
}

struct Folder(PathBuf);

impl Folder {
    fn secret(&self, name: &str) -> Result<Option<Secret>, Error> {
        let path = self.0.join(name);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(Secret::new(bytes.trim_ascii_end().to_vec()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    fn text(&self, name: &str) -> Result<Option<Zeroizing<String>>, Error> {
        let Some(secret) = self.secret(name)? else { return Ok(None) };
        let text = secret.expose_text().map(|text| Zeroizing::new(text.to_owned()));
        text.map(Some).ok_or_else(|| self.damaged(name, "text in UTF-8"))
    }

    fn parsed<T>(&self, name: &str, parsed: Result<T, ParseError>) -> Result<T, Error> {
        parsed.map_err(|error| self.damaged(name, error.expected))
    }

    fn damaged(&self, name: &str, expected: &'static str) -> Error {
        Error::Damaged { path: self.0.join(name), expected }
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let file = FileToWrite { path: Path::new(name), content, mode: 0o600, owner: None };
        let dir = files::Dir { path: self.0.clone(), lasting: files::Lasting::Kept, owner: None };
        files::make(&dir).map_err(Error::Write)?;
        files::write_all(&self.0, &[file]).map(drop).map_err(Error::Write)
    }

    /// Whether anything says that the node has joined, be it whole or not.
    fn has_joined(&self) -> bool {
        ["mesh", "signer.pub", "bus.creds"].iter().any(|name| self.0.join(name).exists())
    }

    fn joined(&self) -> Result<Option<Joined>, Error> {
        let (Some(mesh), Some(signer), Some(creds)) =
            (self.text("mesh")?, self.text("signer.pub")?, self.text("bus.creds")?)
        else {
            return Ok(None);
        };
        let mesh = mesh.parse().map_err(|_| self.damaged("mesh", "the name of a mesh"))?;
        let signer = self.parsed("signer.pub", signer.parse())?;
        let creds =
            Creds::from_text(&creds).map_err(|_| self.damaged("bus.creds", "an account on the bus"))?;
        Ok(Some(Joined { mesh, signer, creds }))
    }
}

/// Where a node called so keeps its state, below that of the whole mesh on one machine.
#[must_use]
pub fn state_of(mesh_state: &Path, node: &dyn Display) -> PathBuf {
    mesh_state.join("nodes").join(node.to_string())
}

#[cfg(test)]
mod tests;

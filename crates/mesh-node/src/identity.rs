//! Who a node is: its keys, made on its machine, and what it learnt of the mesh when it joined.
//!
//! Below the node's state folder in `identity/`, every file of mode 0600: `sealing.key`, `digest.key`, `bus.creds`,
//! `signer.pub`, `mesh`; and `bus.urls` with `ca.pem`, where the bus is another machine's. The keys are made once, before
//! anything is sealed to them, and never leave the machine.
//!
//! A node that joins makes all of it in `joining/`, the keys first, and the whole takes its place at the end
//! ([`Joining`]): whenever it is cut off, it goes on with the same keys.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use mesh_bus::{Address, Creds, UserKey};
use mesh_model::name::MeshName;
use mesh_seal::{DigestKey, NoRandomness, ParseError, SealingKey, Secret, SystemRandom, VerifyingKey};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::files::{self, FileToWrite};

/// The folder of the identity, below the node's state folder.
const IDENTITY: &str = "identity";
/// The folder of an identity in the making.
const JOINING: &str = "joining";
/// The file with the certificate of the mesh's authority.
const CA: &str = "ca.pem";

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
    /// Where the bus is; none where this process has it beside it.
    pub at: Option<Address>,
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
    /// What was made could not take its place.
    #[error("cannot put {} in the place of the identity of the node", path.display())]
    Settle {
        /// What was made.
        path: PathBuf,
        /// The system's word.
        #[source]
        source: io::Error,
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
        Self::joined(state)?;
        Self::open_in(&Folder(state.join(IDENTITY)))
    }

    /// What a node has learnt, where it has joined; nothing is made.
    ///
    /// # Errors
    /// Where a file cannot be read, or is damaged.
    pub fn joined(state: &Path) -> Result<Option<Joined>, Error> {
        let joining = Folder(state.join(JOINING));
        if joining.joined()?.is_some() {
            joining.settle(state)?;
        }
        Folder(state.join(IDENTITY)).joined()
    }

    fn open_in(folder: &Folder) -> Result<Self, Error> {
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
        Folder(state.join(IDENTITY)).keep(&joined)?;
        self.joined = Some(joined);
        Ok(())
    }

    /// Keeps where the bus is now.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn note_urls(state: &Path, urls: &[String]) -> Result<(), Error> {
        Folder(state.join(IDENTITY)).write("bus.urls", lines(urls).as_bytes())
    }
}

/// An identity in the making: its keys are there, and it is not known to the mesh yet, or does not know it.
pub struct Joining {
    state: PathBuf,
    folder: Folder,
    user: UserKey,
}

impl Joining {
    /// Makes the keys of a node that is to join, or takes those of an attempt that was cut off.
    ///
    /// # Errors
    /// Where a file cannot be read or written, or is damaged.
    pub fn begin(state: &Path) -> Result<Self, Error> {
        let folder = Folder(state.join(JOINING));
        let user = match folder.text("bus.key")? {
            Some(seed) => UserKey::from_seed(&seed).map_err(|_| folder.damaged("bus.key", "a key"))?,
            None => {
                let key = UserKey::new();
                folder.write("bus.key", key.seed().as_bytes())?;
                key
            }
        };
        Identity::open_in(&folder)?;
        Ok(Self { state: state.to_owned(), folder, user })
    }

    /// The key that it signs in to the bus with.
    #[must_use]
    pub fn user(&self) -> &UserKey {
        &self.user
    }

    /// Where the certificate of the mesh's authority belongs.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.folder.0.join(CA)
    }

    /// The node has been let in: keeps what it learnt, and takes the place of the identity of before. That one is put aside,
    /// in `identity.before`.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(self, joined: &Joined) -> Result<(), Error> {
        self.folder.keep(joined)?;
        self.folder.settle(&self.state)
    }
}

fn lines(urls: &[String]) -> String {
    urls.iter().map(|url| format!("{url}\n")).collect()
}

struct Folder(PathBuf);

impl Folder {
    /// What was learnt, the creds last: when they are there, all is.
    fn keep(&self, joined: &Joined) -> Result<(), Error> {
        let folder = self;
        folder.write("mesh", joined.mesh.as_str().as_bytes())?;
        folder.write("signer.pub", joined.signer.to_string().as_bytes())?;
        if let Some(at) = &joined.at {
            folder.write("bus.urls", lines(&at.urls).as_bytes())?;
        }
        folder.write("bus.creds", joined.creds.to_text().as_bytes())
    }

    /// Takes the place of the identity.
    fn settle(&self, state: &Path) -> Result<(), Error> {
        let (place, before) = (state.join(IDENTITY), state.join("identity.before"));
        let failed = |source| Error::Settle { path: self.0.clone(), source };
        if place.exists() {
            match std::fs::remove_dir_all(&before) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => std::fs::rename(&place, &before).map_err(failed)?,
            }
        }
        std::fs::rename(&self.0, &place).map_err(failed)?;
        std::fs::File::open(state).and_then(|state| state.sync_all()).map_err(failed)
    }

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
        let urls = self.text("bus.urls")?;
        let at = urls.map(|urls| Address {
            urls: urls.lines().map(str::to_owned).collect(),
            ca: Some(self.0.join(CA)),
        });
        Ok(Some(Joined { mesh, signer, creds, at }))
    }
}

/// Where a node called so keeps its state, below that of the whole mesh on one machine.
#[must_use]
pub fn state_of(mesh_state: &Path, node: &dyn Display) -> PathBuf {
    mesh_state.join("nodes").join(node.to_string())
}

#[cfg(test)]
mod tests;

//! A state folder: who has it, what is in it, and what is left there for other commands.
//!
//! ```text
//! <state>/mesh.lock      held, with the process's number in it, as long as it runs
//! <state>/mesh.log       what went wrong, and everything that a detached one says
//! <state>/bus.json       where the bus is, for other commands; gone when it stops
//! <state>/operator.creds who they are
//! <state>/keys           the keys of the bus
//! <state>/ca             the mesh's certificates
//! <state>/bus            nats-server's own folder
//! <state>/vault          what is sealed
//! <state>/nodes/<node>   a node's state
//! ```

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use mesh_bus::{Address, Creds};
use mesh_model::wire::V1;
use mesh_node::files::{self, FileToWrite};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::reach::BusFile;

/// A log that has grown past this many bytes is put aside at the next start.
const LOG_LIMIT: u64 = 10 * 1024 * 1024;

/// A state folder.
#[derive(Debug, Clone)]
pub(crate) struct Folder(PathBuf);

/// The lock on a state folder: let go of when dropped, or when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Held {
    _lock: File,
}

/// What is wrong with a state folder.
#[derive(Debug, Error)]
pub(crate) enum FolderError {
    #[error("mesh runs in {} already, as process {pid}", folder.display())]
    Taken { folder: PathBuf, pid: String },
    #[error("cannot use {}", path.display())]
    Use { path: PathBuf, source: io::Error },
    #[error("cannot keep what was said")]
    Keep(#[source] files::Error),
    #[error("cannot leave word for other commands")]
    Leave(#[source] files::Error),
}

impl Folder {
    /// Makes the folder where it is missing. Others may pass through it (services run as other users), and not list it.
    pub(crate) fn make(path: &Path) -> Result<Self, FolderError> {
        let fail = |source| FolderError::Use { path: path.to_owned(), source };
        std::fs::DirBuilder::new().recursive(true).mode(0o711).create(path).map_err(fail)?;
        Ok(Self(path.canonicalize().map_err(fail)?))
    }

    /// A folder that is there.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        path.canonicalize().ok().map(Self)
    }

    /// It lies in the folder of a description, which may be kept in git.
    pub(crate) fn ignore_in_git(&self) -> Result<(), FolderError> {
        let path = self.0.join(".gitignore");
        match File::options().write(true).create_new(true).open(&path) {
            Ok(mut file) => file.write_all(b"*\n").map_err(|source| FolderError::Use { path, source }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(source) => Err(FolderError::Use { path, source }),
        }
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Takes it: one mesh a folder.
    pub(crate) fn take(&self) -> Result<Held, FolderError> {
        self.take_to("mesh.lock")
    }

    /// Takes it for one purpose, whatever else is done with it.
    pub(crate) fn take_to(&self, lock: &str) -> Result<Held, FolderError> {
        let path = self.0.join(lock);
        let fail = |source| FolderError::Use { path: path.clone(), source };
        let options =
            |file: &mut std::fs::OpenOptions| file.read(true).write(true).create(true).mode(0o600).clone();
        let mut lock = options(&mut File::options()).open(&path).map_err(fail)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                lock.read_to_string(&mut pid).map_err(fail)?;
                return Err(FolderError::Taken { folder: self.0.clone(), pid: pid.trim().to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(fail(source)),
        }
        lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(fail)?;
        Ok(Held { _lock: lock })
    }

    /// The process that has it; none where nobody does.
    pub(crate) fn holder(&self) -> Result<Option<i32>, FolderError> {
        let path = self.0.join("mesh.lock");
        let fail = |source| FolderError::Use { path: path.clone(), source };
        let mut lock = match File::options().read(true).write(true).open(&path) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(fail(source)),
        };
        match lock.try_lock() {
            Ok(()) => Ok(None),
            Err(TryLockError::Error(source)) => Err(fail(source)),
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                lock.read_to_string(&mut pid).map_err(fail)?;
                Ok(pid.trim().parse().ok())
            }
        }
    }

    /// The log, opened to be added to.
    pub(crate) fn log(&self) -> Result<File, FolderError> {
        let path = self.log_path();
        let fail = |source| FolderError::Use { path: path.clone(), source };
        if path.metadata().is_ok_and(|log| log.len() > LOG_LIMIT) {
            std::fs::rename(&path, path.with_extension("log.1")).map_err(fail)?;
        }
        File::options().append(true).create(true).mode(0o600).open(&path).map_err(fail)
    }

    /// From now on, what is traced goes to the log.
    pub(crate) fn keep_log(&self, filter: &str) -> Result<(), FolderError> {
        let log = Mutex::new(self.log()?);
        let kept = tracing_subscriber::fmt()
            .with_env_filter(super::filter(filter))
            .with_writer(log)
            .with_ansi(false)
            .try_init();
        // It fails where this process keeps one already.
        drop(kept);
        Ok(())
    }

    /// Where the log is.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.0.join("mesh.log")
    }

    /// A file of its own; none where it is not there.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FolderError> {
        let path = self.0.join(name);
        match std::fs::read(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FolderError::Use { path, source }),
        }
    }

    /// Writes a file of its own, for us alone.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<(), FolderError> {
        let file = FileToWrite { path: Path::new(name), content, mode: 0o600, owner: None };
        files::write_all(&self.0, &[file]).map(drop).map_err(FolderError::Keep)
    }

    /// Leaves word for other commands: where the bus is, and who they are.
    pub(crate) fn announce(&self, at: &Address, creds: &Creds) -> Result<(), FolderError> {
        let Address { urls, ca } = at.clone();
        let file = BusFile { v: V1, urls, ca, creds: PathBuf::from("operator.creds") };
        let text = serde_json::to_vec(&file).expect("plain data serializes");
        let creds = creds.to_text();
        let private = |path: &'static str, content| FileToWrite {
            path: Path::new(path),
            content,
            mode: 0o600,
            owner: None,
        };
        let files = [private("operator.creds", creds.as_bytes()), private("bus.json", &text)];
        files::write_all(&self.0, &files).map(drop).map_err(FolderError::Leave)
    }

    /// Takes the word back.
    pub(crate) fn retract(&self) {
        // Where it cannot be removed, other commands find that nothing answers there.
        let _ = std::fs::remove_file(BusFile::path(&self.0));
    }

    /// The operator of before.
    pub(crate) fn operator(&self) -> Option<Creds> {
        let text = std::fs::read_to_string(self.0.join("operator.creds")).map(Zeroizing::new).ok()?;
        Creds::from_text(&text).ok()
    }
}

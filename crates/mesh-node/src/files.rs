//! Writes a module's files: all of them or none, each whole, each private before it is visible.
//!
//! Start at [`replace`], which makes a folder hold exactly the files that are wanted; [`write_all`] is its
//! inner half. A file is written beside its target under another name, with its owner and mode set before it has
//! any content, and synced; only when all are, the names are taken over, and the folders synced. So a full
//! disk leaves every old file as it was, and no reader ever sees half a file or a wider mode.
//!
//! Nothing is written through a symbolic link below the root: folders are opened a step at a time, never
//! following one, so that a service which owns a folder cannot send the writer elsewhere.
//!
//! It does not know what is in the files, nor who restarts when one changed.

use std::{
    io,
    path::{Path, PathBuf},
};

mod beneath;
mod folders;
mod ledger;
mod reach;
mod writer;

pub use folders::{Dir, Lasting, make};
pub(crate) use folders::{empty, passing};
pub use ledger::replace;
pub use reach::{NotReachable, reachable_by};
pub use writer::write_all;

/// One file as it should be.
#[derive(Clone)]
pub struct FileToWrite<'a> {
    /// Below the root, without `.` and `..`.
    pub path: &'a Path,
    /// All of it. It may be a secret, so this type has no Debug.
    pub content: &'a [u8],
    /// The permission bits, such as `0o600`.
    pub mode: u32,
    /// Whose it is; the mesh's own where absent.
    pub owner: Option<Owner>,
}

/// Whose a file or a folder is, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

impl From<&crate::users::User> for Owner {
    fn from(user: &crate::users::User) -> Self {
        Self { uid: user.uid, gid: user.gid }
    }
}

/// What went wrong with which file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something on the way is a symbolic link.
    #[error("{} is a symbolic link: nothing is written through it", path.display())]
    Symlink {
        /// The link.
        path: PathBuf,
    },
    /// A file is where a folder is needed, or a folder where a file is.
    #[error("{} is in the way: it is not a {wanted}", path.display())]
    InTheWay {
        /// What is there.
        path: PathBuf,
        /// What has to be there.
        wanted: &'static str,
    },
    /// The path leaves its folder.
    #[error("{} does not stay inside its folder", path.display())]
    Outside {
        /// As it was given.
        path: PathBuf,
    },
    /// The system said no.
    #[error("could not {doing} {}", path.display())]
    Io {
        /// The step, as a verb.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`: the step and what it was done to.
    fn doing<E: Into<io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        move |source| Self::Io { doing, path: path.to_owned(), source: source.into() }
    }
}

#[cfg(test)]
mod tests;

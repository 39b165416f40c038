//! Opens folders below a root a step at a time, following no symbolic link, and makes those that are missing.
//!
//! `openat2` with `RESOLVE_BENEATH` would do it in one call, but could not say which step was the link, and is
//! not in every container's filter.

use std::{
    ffi::OsStr,
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use super::Error;

/// What to do about a folder that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Make it: others may pass through, nobody may list it.
    Make,
    /// Say that it is not there.
    Leave,
}

/// An open folder, and where it was found.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) fd: OwnedFd,
    pub(super) path: PathBuf,
}

const STEP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The mode of a folder that is only passed through.
const PASSING: Mode = Mode::from_raw_mode(0o711);

impl Folder {
    /// Opens the root itself, which is ours to name: links above it are followed.
    pub(super) fn root(root: &Path) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(root, flags, Mode::empty()).map_err(Error::doing("open", root))?;
        Ok(Self { fd, path: root.to_owned() })
    }

    /// The folder of that relative path, and the last name of it; `None` where it is missing and to be left so.
    pub(super) fn parent_of<'p>(
        root: &Path,
        path: &'p Path,
        missing: Missing,
    ) -> Result<Option<(Self, &'p OsStr)>, Error> {
        let (folders, name) = steps(path)?;
        let mut here = Self::root(root)?;
        for step in folders {
            match here.step(step, missing)? {
                Some(next) => here = next,
                None => return Ok(None),
            }
        }
        Ok(Some((here, name)))
    }

    fn step(&self, name: &OsStr, missing: Missing) -> Result<Option<Self>, Error> {
        let path = self.path.join(name);
        match rustix::fs::openat(&self.fd, name, STEP, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd, path })),
            Err(Errno::NOENT) if missing == Missing::Leave => Ok(None),
            Err(Errno::NOENT) => self.make(name, path).map(Some),
            Err(errno) => Err(self.refusal(name, path, errno)),
        }
    }

    fn make(&self, name: &OsStr, path: PathBuf) -> Result<Self, Error> {
        match rustix::fs::mkdirat(&self.fd, name, PASSING) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(Error::doing("make the folder", &path)(errno)),
        }
        let fd = rustix::fs::openat(&self.fd, name, STEP, Mode::empty())
            .map_err(|errno| self.refusal(name, path.clone(), errno))?;
        // The mode at making is narrowed by the umask.
        rustix::fs::fchmod(&fd, PASSING).map_err(Error::doing("set the mode of", &path))?;
        self.sync()?;
        Ok(Self { fd, path })
    }

    /// Makes names in it that were made, taken over or removed last through a loss of power.
    pub(super) fn sync(&self) -> Result<(), Error> {
        rustix::fs::fsync(&self.fd).map_err(Error::doing("sync", &self.path))
    }

    /// Why a step failed: the system says the same of a link and of a plain file.
    fn refusal(&self, name: &OsStr, path: PathBuf, errno: Errno) -> Error {
        let is_link = rustix::fs::statat(&self.fd, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink());
        match errno {
            _ if is_link => Error::Symlink { path },
            Errno::NOTDIR => Error::InTheWay { path, wanted: "folder" },
            errno => Error::doing("open", &path)(errno),
        }
    }
}

/// The folders of a relative path and its last name.
fn steps(path: &Path) -> Result<(Vec<&OsStr>, &OsStr), Error> {
    let outside = || Error::Outside { path: path.to_owned() };
    let mut names = path
        .components()
        .map(|component| match component {
            Component::Normal(name) => Ok(name),
            _ => Err(outside()),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let name = names.pop().ok_or_else(outside)?;
    Ok((names, name))
}

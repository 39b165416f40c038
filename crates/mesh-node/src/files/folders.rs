//! A module's own folders: made with the right owner and mode, and emptied where they are temporary.

use std::path::{Path, PathBuf};

use rustix::{
    fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid},
    io::Errno,
};

use super::{
    Error, Owner,
    beneath::{Folder, Missing},
};

/// Whether what a folder holds outlives the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lasting {
    /// It is kept.
    #[default]
    Kept,
    /// It is emptied at each start of the module.
    Temporary,
}

/// One folder that a module asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dir {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it is emptied.
    pub lasting: Lasting,
    /// Whose it is; the mesh's own where absent.
    pub owner: Option<Owner>,
}

/// Makes the folder where it is missing, and sees that it is its owner's alone. What is in it is not touched.
/// The folders above it that are missing are made so that others may pass through and nobody may list them.
///
/// # Errors
/// Something else is there, or what the system says.
pub fn make(dir: &Dir) -> Result<(), Error> {
    open(dir).map(drop)
}

/// Makes a folder of the mesh's own that others may pass through, where it is missing.
pub(crate) fn passing(path: &Path) -> Result<(), Error> {
    let folder = open(&Dir { path: path.to_owned(), lasting: Lasting::Kept, owner: None })?;
    rustix::fs::fchmod(&folder.fd, Mode::from_raw_mode(0o711)).map_err(Error::doing("set the mode of", path))
}

/// Removes everything in the folder, following no link.
///
/// # Errors
/// What the system says; what was removed until then stays removed.
pub(crate) fn empty(dir: &Dir) -> Result<(), Error> {
    for entry in std::fs::read_dir(&dir.path).map_err(Error::doing("list", &dir.path))? {
        let entry = entry.map_err(Error::doing("list", &dir.path))?;
        let path = entry.path();
        let is_folder = entry.file_type().map_err(Error::doing("look at", &path))?.is_dir();
        let removed = if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.map_err(Error::doing("remove", &path))?;
    }
    Ok(())
}

fn open(dir: &Dir) -> Result<Folder, Error> {
    let below = dir.path.strip_prefix("/").map_err(|_| Error::Outside { path: dir.path.clone() })?;
    let above = nearest(&dir.path);
    let rest = dir.path.strip_prefix(&above).unwrap_or(below);
    if rest.as_os_str().is_empty() {
        return own(Folder::root(&above)?, dir);
    }
    let Some((parent, name)) = Folder::parent_of(&above, rest, Missing::Make)? else {
        return Err(Error::Outside { path: dir.path.clone() });
    };
    match rustix::fs::mkdirat(&parent.fd, name, Mode::from_raw_mode(0o700)) {
        Ok(()) => parent.sync()?,
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(Error::doing("make the folder", &dir.path)(errno)),
    }
    let stat = rustix::fs::statat(&parent.fd, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(Error::doing("look at", &dir.path))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {}
        FileType::Symlink => return Err(Error::Symlink { path: dir.path.clone() }),
        _ => return Err(Error::InTheWay { path: dir.path.clone(), wanted: "folder" }),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&parent.fd, name, flags, Mode::empty())
        .map_err(Error::doing("open", &dir.path))?;
    own(Folder { fd, path: dir.path.clone() }, dir)
}

/// The deepest folder of the path's parents that is there.
fn nearest(path: &Path) -> PathBuf {
    path.ancestors().skip(1).find(|above| above.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

fn own(folder: Folder, dir: &Dir) -> Result<Folder, Error> {
    let stat = rustix::fs::fstat(&folder.fd).map_err(Error::doing("look at", &dir.path))?;
    if let Some(owner) = dir.owner
        && (stat.st_uid, stat.st_gid) != (owner.uid, owner.gid)
    {
        rustix::fs::fchown(&folder.fd, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)))
            .map_err(Error::doing("give away", &dir.path))?;
    }
    // Its owner may have widened it on purpose, so that a neighbour reads it; at making it is private.
    Ok(folder)
}

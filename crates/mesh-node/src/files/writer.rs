//! Writes all, then takes all names over, then syncs the folders.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs::File,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid},
    io::Errno,
};
use zeroize::Zeroize;

use super::{
    Error, FileToWrite,
    beneath::{Folder, Missing},
};

/// A file that is written and synced under its other name.
struct Written<'a> {
    folder: Folder,
    name: &'a OsStr,
    unfinished: OsString,
    path: &'a Path,
}

/// Makes each of the files below `root` what it should be, and says which were not (as given, in that order).
/// On an error nothing has changed, save where taking a name over failed after others were taken.
///
/// # Errors
/// A symbolic link on the way, something else in the way, or what the system says: a full disk, say.
pub fn write_all(root: &Path, wanted: &[FileToWrite<'_>]) -> Result<Vec<PathBuf>, Error> {
    let mut written = Vec::new();
    match write_unfinished(root, wanted, &mut written) {
        Ok(()) => take_over(&written),
        Err(error) => {
            forget(&written);
            Err(error)
        }
    }
}

fn write_unfinished<'a>(
    root: &Path,
    wanted: &'a [FileToWrite<'_>],
    written: &mut Vec<Written<'a>>,
) -> Result<(), Error> {
    for file in wanted {
        let Some((folder, name)) = Folder::parent_of(root, file.path, Missing::Make)? else { continue };
        if is_as_wanted(&folder, name, file)? {
            continue;
        }
        // On the list before it is complete, so that a failure halfway removes it too.
        written.push(Written { folder, name, unfinished: unfinished(name), path: file.path });
        let entry = written.last().expect("pushed just above");
        write_one(entry, file).map_err(Error::doing("write", &entry.folder.path.join(name)))?;
    }
    Ok(())
}

/// The other name of a file until it is complete. Always the same for one target, so that what a writer that was
/// killed has left is found without looking for it.
pub(super) fn unfinished(name: &OsStr) -> OsString {
    let mut other = OsString::from(".mesh-new-");
    other.push(name);
    other
}

fn is_as_wanted(folder: &Folder, name: &OsStr, wanted: &FileToWrite<'_>) -> Result<bool, Error> {
    let path = folder.path.join(name);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = match rustix::fs::openat(&folder.fd, name, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(false),
        Err(Errno::LOOP) => return Err(Error::Symlink { path }),
        // A file of ours that we may not read any more is written anew.
        Err(Errno::ACCESS) => return Ok(false),
        Err(errno) => return Err(Error::doing("open", &path)(errno)),
    };
    let stat = rustix::fs::fstat(&fd).map_err(Error::doing("look at", &path))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Error::InTheWay { path, wanted: "file" });
    }
    let (uid, gid) = owner_of(wanted);
    if stat.st_mode & 0o7777 != wanted.mode || stat.st_uid != uid || stat.st_gid != gid {
        return Ok(false);
    }
    if usize::try_from(stat.st_size).ok() != Some(wanted.content.len()) {
        return Ok(false);
    }
    holds(File::from(fd), wanted.content).map_err(Error::doing("read", &path))
}

/// Compared a piece at a time: what is there may be a secret, and is wiped.
fn holds(mut file: File, mut content: &[u8]) -> std::io::Result<bool> {
    let mut piece = [0; 8192];
    let same = loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            break content.is_empty();
        }
        match content.split_at_checked(length) {
            Some((begin, rest)) if begin == &piece[..length] => content = rest,
            _ => break false,
        }
    };
    piece.zeroize();
    Ok(same)
}

fn owner_of(file: &FileToWrite<'_>) -> (u32, u32) {
    file.owner.map_or_else(
        || (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
        |owner| (owner.uid, owner.gid),
    )
}

fn write_one(entry: &Written<'_>, wanted: &FileToWrite<'_>) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let private = Mode::from_raw_mode(0o600);
    match rustix::fs::unlinkat(&entry.folder.fd, &entry.unfinished, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let mut file = File::from(rustix::fs::openat(&entry.folder.fd, &entry.unfinished, flags, private)?);
    let (uid, gid) = owner_of(wanted);
    let stat = rustix::fs::fstat(&file)?;
    if (stat.st_uid, stat.st_gid) != (uid, gid) {
        rustix::fs::fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
    }
    // After the owner: changing it takes bits away.
    rustix::fs::fchmod(&file, Mode::from_raw_mode(wanted.mode))?;
    file.write_all(wanted.content)?;
    file.sync_all()
}

fn take_over(written: &[Written<'_>]) -> Result<Vec<PathBuf>, Error> {
    for entry in written {
        let fd = &entry.folder.fd;
        if let Err(errno) = rustix::fs::renameat(fd, &entry.unfinished, fd, entry.name) {
            forget(written);
            return Err(Error::doing("replace", &entry.folder.path.join(entry.name))(errno));
        }
    }
    let folders: BTreeMap<_, _> = written.iter().map(|entry| (&entry.folder.path, &entry.folder)).collect();
    folders.values().try_for_each(|folder| folder.sync())?;
    Ok(written.iter().map(|entry| entry.path.to_owned()).collect())
}

fn forget(written: &[Written<'_>]) {
    for entry in written {
        // It may not be there; and the first fault is the one to tell.
        let _ = rustix::fs::unlinkat(&entry.folder.fd, &entry.unfinished, AtFlags::empty());
    }
}

//! Files that only we may read: keys, and what the server must not lose.
//!
//! Written whole: a reader, and a start after a power cut, sees the old file or the new one. The mode is 0600
//! before the file is visible under its name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A file or a folder of the state that could not be used.
#[derive(Debug, Error)]
#[error("cannot {doing} {}", path.display())]
pub struct KeepError {
    /// What was being done: `read`, `write`, `make the folder`.
    pub doing: &'static str,
    /// To which path.
    pub path: PathBuf,
    /// Why not.
    #[source]
    pub source: io::Error,
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> KeepError {
    let path = path.to_owned();
    move |source| KeepError { doing, path, source }
}

/// Makes a folder that only we may enter, and those above it.
pub(crate) fn folder(path: &Path) -> Result<(), KeepError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o700)))
        .map_err(failed("make the folder", path))
}

/// Whether there is such a file.
pub(crate) fn is_there(path: &Path) -> Result<bool, KeepError> {
    path.try_exists().map_err(failed("look at", path))
}

/// The text of a file, or `None` where there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<String>, KeepError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failed("read", path)(e)),
    }
}

/// Puts a file of mode 0600 in place of what is there, in one step.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), KeepError> {
    replace(path, text.as_bytes()).map_err(failed("write", path))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let beside = parent.join(format!(".{}.new", name.to_string_lossy()));
    match fs::remove_file(&beside) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(parent)?.sync_all()
}

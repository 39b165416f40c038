//! Whether other users can reach a path: each folder on the way must be searchable by others.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The first folder on the way to `path`, itself included, that others may not search. What is not there yet is not in
/// the way.
pub(crate) fn closed_above(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let mut folders: Vec<&Path> = path.ancestors().collect();
    folders.reverse();
    folders.into_iter().find(|folder| is_closed(folder)).map(Path::to_owned)
}

fn is_closed(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|found| found.is_dir() && found.permissions().mode() & 0o001 == 0)
}

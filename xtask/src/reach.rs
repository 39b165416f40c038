//! Whether the users that services run as can reach what is built here, and a place that they can where they cannot.
//!
//! Started by root, mesh runs each service as a user of its own. That user must be able to search every folder on the
//! way to its program and to its state. A checkout under root's home is not within reach: then both go to a folder of
//! this checkout's own where everybody may look.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::place::Place;
use crate::shell::say;

/// Where everybody may make a folder that lasts.
const ELSEWHERE: &str = "/var/tmp";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot use {}: it is not a folder that root alone may write to", path.display())]
    NotOurs { path: PathBuf },
    #[error("cannot make {}", path.display())]
    Make { path: PathBuf, source: std::io::Error },
}

/// The same place, built where services can reach it.
pub(crate) fn within(place: Place) -> Result<Place, Error> {
    let closed = closed_above(&place.target).filter(|_| place.root_user);
    let Some(closed) = closed else { return Ok(place) };
    let folder = elsewhere(&place)?;
    say(&format!(
        "Services run as users of their own, who may not search {}: this is built in {}",
        closed.display(),
        folder.display()
    ));
    Ok(place.built_in(folder.join("target")))
}

/// This checkout's folder where everybody may look.
pub(crate) fn elsewhere(place: &Place) -> Result<PathBuf, Error> {
    let mut hasher = DefaultHasher::new();
    place.root.hash(&mut hasher);
    own_folder(Path::new(ELSEWHERE).join(format!("mesh-{:08x}", hasher.finish() as u32)))
}

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

/// A folder in a place where everybody may make one: root's alone, or not used.
fn own_folder(path: PathBuf) -> Result<PathBuf, Error> {
    if let Err(source) = fs::DirBuilder::new().mode(0o755).create(&path)
        && source.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(Error::Make { path, source });
    }
    let ours = |found: fs::Metadata| found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0;
    if fs::symlink_metadata(&path).is_ok_and(ours) { Ok(path) } else { Err(Error::NotOurs { path }) }
}

#[cfg(test)]
mod tests;

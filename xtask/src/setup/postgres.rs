//! PostgreSQL's programs. Its servers are made by mesh, in mesh's folders; no cluster of the machine's is touched.

use std::path::{Path, PathBuf};

use crate::place::Place;

pub(super) const OLDEST: u32 = 15;
pub(super) const WHY: &str = "the module `postgres` runs it, for modules that need a database";

/// The folder with the newest of its programs.
pub(super) fn find(place: &Place) -> Option<PathBuf> {
    newest_of_debian(Path::new("/usr/lib/postgresql"))
        .or_else(|| place.on_path("initdb").and_then(|initdb| Some(initdb.parent()?.to_owned())))
}

/// Debian keeps each version's programs in `<version>/bin`.
pub(super) fn newest_of_debian(folder: &Path) -> Option<PathBuf> {
    let versions = std::fs::read_dir(folder).ok()?.flatten();
    versions
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin")))
        })
        .filter(|(version, programs)| *version >= OLDEST && programs.join("initdb").is_file())
        .max_by_key(|(version, _)| *version)
        .map(|(_, programs)| programs)
}

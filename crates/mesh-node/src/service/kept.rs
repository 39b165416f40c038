//! What a node keeps on disk so that it boots without the bus: of each module the last assignment that was written, with
//! what was found for it, sealed as it came; the contents of its files; and how old a credential may be.
//!
//! A file is written only where it says something else than before. What cannot be read is told and passed over, since
//! the bus has it too; all but the versions that were seen: without them, what was taken back could be accepted again.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mesh_model::digest::Digest;
use mesh_model::name::ModuleName;
use mesh_model::wire::{Assignment, V1};
use serde::{Deserialize, Serialize};

use super::Error;
use crate::client::inputs::Inputs;
use crate::client::pass::{Contents, Keep};
use crate::client::resolve::said;
use crate::files::{self, Dir, FileToWrite, Lasting};
use crate::host::Layout;

/// What is kept of one module.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    v: V1,
    /// The assignment that was written last.
    pub(super) assignment: Assignment,
    /// What was found for it. What is sealed stays sealed.
    pub(super) inputs: Inputs,
}

/// How old a credential may be: by its key, the oldest version that was live when it was last delivered.
type Seen = BTreeMap<String, u64>;

/// What is on the disk, as far as it has to be known to write only what is new.
pub(super) struct Shelf {
    layout: Layout,
    modules: BTreeMap<ModuleName, OnDisk>,
    contents: BTreeSet<Digest>,
    seen: Seen,
}

struct OnDisk {
    digest: Digest,
    files: BTreeSet<Digest>,
}

impl Shelf {
    /// Reads what an earlier run has kept: the shelf, the modules on it, and the contents of their files.
    pub(super) fn open(layout: Layout) -> Result<(Self, BTreeMap<ModuleName, Kept>, Contents), Error> {
        let seen = read_seen(&layout.seen())?;
        let mut shelf = Self { layout, modules: BTreeMap::new(), contents: BTreeSet::new(), seen };
        let mut kept = BTreeMap::new();
        for name in shelf.layout.modules() {
            let Ok(name) = name.parse::<ModuleName>() else { continue };
            let path = shelf.layout.kept(name.as_str());
            if let Some((one, digest)) = read(&path) {
                shelf.modules.insert(name.clone(), OnDisk { digest, files: files_of(&one.assignment) });
                kept.insert(name, one);
            }
        }
        let contents = shelf.read_contents();
        shelf.contents = contents.keys().cloned().collect();
        Ok((shelf, kept, contents))
    }

    /// How old a credential may be.
    pub(super) fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Keeps how old a credential may be.
    pub(super) fn keep_seen(&mut self, seen: &Seen) {
        if self.seen == *seen {
            return;
        }
        match write(&self.layout.seen(), seen) {
            Ok(()) => self.seen.clone_from(seen),
            Err(error) => tracing::warn!(why = said(&error), "the versions that were seen could not be kept"),
        }
    }

    fn try_keep(&mut self, kept: &Kept, contents: &Contents) -> Result<(), files::Error> {
        let name = &kept.assignment.module;
        let digest = Digest::of_json(kept);
        if self.modules.get(name).is_some_and(|on_disk| on_disk.digest == digest) {
            return Ok(());
        }
        let files = files_of(&kept.assignment);
        for file in files.iter().filter(|file| !self.contents.contains(*file)).cloned().collect::<Vec<_>>() {
            if let Some(content) = contents.get(&file) {
                write_bytes(&self.layout.contents().join(file.to_string()), content)?;
                self.contents.insert(file);
            }
        }
        write(&self.layout.kept(name.as_str()), kept)?;
        self.modules.insert(name.clone(), OnDisk { digest, files });
        Ok(())
    }

    /// Forgets a module that is taken back: without the bus, it must not come back either.
    pub(super) fn forget(&mut self, name: &ModuleName) {
        let path = self.layout.kept(name.as_str());
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %path.display(), %error, "what was kept of a module could not be removed");
            }
            _ => drop(self.modules.remove(name)),
        }
    }

    /// Lets go of contents that neither these assignments nor anything kept refers to, in memory and on the disk.
    pub(super) fn prune<'a>(
        &mut self,
        assigned: impl Iterator<Item = &'a Assignment>,
        contents: &mut Contents,
    ) {
        let kept = self.modules.values().flat_map(|module| module.files.iter().cloned());
        let wanted: BTreeSet<Digest> = assigned.flat_map(files_of).chain(kept).collect();
        contents.retain(|digest, _| wanted.contains(digest));
        self.contents.retain(|digest| {
            wanted.contains(digest)
                || std::fs::remove_file(self.layout.contents().join(digest.to_string())).is_err()
        });
    }

    /// A content that is not what its name says is left out.
    fn read_contents(&self) -> Contents {
        let entries = std::fs::read_dir(self.layout.contents()).into_iter().flatten().flatten();
        let read = |entry: std::fs::DirEntry| {
            let digest = Digest::try_from(entry.file_name().into_string().ok()?).ok()?;
            let content = std::fs::read(entry.path()).ok()?;
            (Digest::of(&content) == digest).then(|| (digest, Arc::new(content)))
        };
        entries.filter_map(read).collect()
    }
}

impl Keep for Shelf {
    fn keep(&mut self, assignment: &Assignment, inputs: &Inputs, contents: &Contents) -> bool {
        let kept = Kept { v: V1, assignment: assignment.clone(), inputs: inputs.clone() };
        match self.try_keep(&kept, contents) {
            Ok(()) => true,
            Err(error) => {
                let module = &assignment.module;
                tracing::warn!(%module, why = said(&error), "it could not be kept, and would not start without the bus");
                false
            }
        }
    }
}

fn files_of(assignment: &Assignment) -> BTreeSet<Digest> {
    assignment.files.values().map(|file| file.digest.clone()).collect()
}

fn read(path: &Path) -> Option<(Kept, Digest)> {
    let read = match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice::<Kept>(&bytes).map_err(io::Error::from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => Err(error),
    };
    match read {
        Ok(kept) => {
            let digest = Digest::of_json(&kept);
            Some((kept, digest))
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "what was kept of a module cannot be read: it waits for the bus");
            None
        }
    }
}

fn read_seen(path: &Path) -> Result<Seen, Error> {
    let failed = |source: io::Error| Error::Seen { path: path.to_owned(), source };
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Seen::new()),
        Err(error) => Err(failed(error)),
    }
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), files::Error> {
    let bytes = serde_json::to_vec(value).map_err(|error| files::Error::Io {
        doing: "write",
        path: path.to_owned(),
        source: error.into(),
    })?;
    write_bytes(path, &bytes)
}

fn write_bytes(path: &Path, content: &[u8]) -> Result<(), files::Error> {
    let outside = || files::Error::Outside { path: path.to_owned() };
    let folder = path.parent().ok_or_else(outside)?;
    let name = PathBuf::from(path.file_name().ok_or_else(outside)?);
    if !folder.is_dir() {
        files::make(&Dir { path: folder.to_owned(), lasting: Lasting::Kept, owner: None })?;
    }
    files::write_all(folder, &[FileToWrite { path: &name, content, mode: 0o600, owner: None }]).map(drop)
}

#[cfg(test)]
mod tests;

//! What planning reads: the listing of a folder, the text of its YAML files and of those that placeholders are replaced in,
//! the modules that ship with mesh, and a few facts about the machines. Whoever plans gathers them; nothing here looks at a disk.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::digest::Digest;
use mesh_model::name::{ModuleName, NodeName, SeatName};

use crate::yaml::{self, Value};

mod beside;

/// The largest manifest, in bytes.
pub const MANIFEST_LIMIT: u64 = 256 << 10;

/// The largest `mesh.yaml`, in bytes: a hundred times that of a thousand nodes.
pub const MESH_LIMIT: u64 = 16 << 20;

/// The largest file with placeholders beside a manifest, in bytes.
pub const TEXT_LIMIT: u64 = 256 << 10;

/// What all files with placeholders beside manifests have together at most, in bytes. A few bytes of text can be a
/// placeholder that takes twenty times as many: no description of these is to take more memory than a machine has.
pub const TEXTS_LIMIT: u64 = 8 << 20;

/// The folder that a node keeps everything under, where nothing else is known of it.
pub const ROOT: &str = "/var/lib/mesh";

/// A mesh description.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// Every file of the folder, by its path with `/` between the parts.
    pub files: BTreeMap<String, FileEntry>,
    /// The bytes of `mesh.yaml`, of each `modules/<name>/module.yaml`, and of the files beside them that
    /// [`Description::texts_to_read`] names; but of none over its limit.
    pub texts: BTreeMap<String, Vec<u8>>,
    /// The modules that are not in the folder, but came with the program.
    pub shipped: BTreeSet<ModuleName>,
}

/// A file of a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// The digest of its content.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
}

/// The modules that ship with mesh.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// Each with its files, by their path in its folder.
    pub modules: BTreeMap<ModuleName, BTreeMap<String, Vec<u8>>>,
}

/// What is known of the machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The folder that each node keeps everything under; [`ROOT`] where it is not known.
    pub roots: BTreeMap<NodeName, String>,
    /// The ports of each address that something outside the mesh holds.
    pub held: BTreeMap<String, BTreeSet<u16>>,
    /// The node that holds each seat now, as far as that is known.
    pub seats: BTreeMap<SeatName, NodeName>,
}

impl Description {
    /// Puts a file in: its entry, and its text where planning reads it.
    pub fn insert(&mut self, path: &str, content: &[u8]) {
        self.put(path, content.to_owned());
    }

    /// The same with a content that nobody else wants.
    pub fn put(&mut self, path: &str, mut content: Vec<u8>) {
        let size = content.len() as u64;
        self.files.insert(path.to_owned(), FileEntry { digest: Digest::of(&content), size });
        if limit(path).is_some_and(|limit| size <= limit) {
            content.shrink_to_fit();
            self.texts.insert(path.to_owned(), content);
        }
    }

    /// What the description says: the digest of its listing.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let listing: BTreeMap<&str, &Digest> =
            self.files.iter().map(|(path, file)| (path.as_str(), &file.digest)).collect();
        Digest::of_json(&listing)
    }

    /// Adds the shipped modules that `assign` names and the folder does not have. What they add is in `modules/<name>/`,
    /// as if it were in the folder.
    pub fn add_shipped(&mut self, catalog: &Catalog) {
        // `mesh.yaml` is read for it where it could be worth it: where it has the name of one of these in it.
        let text = self.texts.get("mesh.yaml").and_then(|bytes| std::str::from_utf8(bytes).ok());
        let absent = |name: &&ModuleName| !self.files.contains_key(&manifest_path(name));
        let mut absent = catalog.modules.keys().filter(absent);
        if !absent.any(|name| text.is_some_and(|text| text.contains(name.as_str()))) {
            return;
        }
        for name in self.assigned() {
            let Some(files) = catalog.modules.get(&name) else { continue };
            if self.files.contains_key(&manifest_path(&name)) {
                continue;
            }
            for (path, content) in files {
                self.insert(&format!("modules/{name}/{path}"), content);
            }
            self.shipped.insert(name);
        }
    }

    /// The modules that `assign` names, as far as `mesh.yaml` can be read.
    fn assigned(&self) -> Vec<ModuleName> {
        let text = self.texts.get("mesh.yaml").and_then(|bytes| std::str::from_utf8(bytes).ok());
        let Some(Value::Map(entries)) = text.and_then(|text| yaml::parse(text).root).map(|root| root.value)
        else {
            return Vec::new();
        };
        let assign = entries.into_iter().find(|entry| entry.key == "assign").map(|entry| entry.value.value);
        let Some(Value::Map(entries)) = assign else { return Vec::new() };
        entries.iter().filter_map(|entry| entry.key.parse().ok()).collect()
    }
}

/// The largest size of a file whose text planning reads; none for a file that it does not read.
#[must_use]
pub fn limit(path: &str) -> Option<u64> {
    if path == "mesh.yaml" {
        return Some(MESH_LIMIT);
    }
    manifest_of(path).map(|_| MANIFEST_LIMIT)
}

/// The folder of a manifest's path: `notes` of `modules/notes/module.yaml`.
#[must_use]
pub fn manifest_of(path: &str) -> Option<&str> {
    let folder = path.strip_prefix("modules/")?.strip_suffix("/module.yaml")?;
    (!folder.contains('/')).then_some(folder)
}

/// The path of a module's manifest.
#[must_use]
pub fn manifest_path(name: &ModuleName) -> String {
    format!("modules/{name}/module.yaml")
}

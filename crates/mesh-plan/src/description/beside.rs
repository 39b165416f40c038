//! Which files beside manifests planning reads: those that a manifest makes a file from, with placeholders in it.
//!
//! Asked before planning, by whoever gathers a description, since only the manifests say it. What cannot be read of them is
//! refused when planned, and passed over here.

use std::collections::BTreeSet;

use super::{Description, TEXT_LIMIT, TEXTS_LIMIT, limit, manifest_of};
use crate::decode::as_boolean;
use crate::yaml::{self, Entry, Node, Value};

impl Description {
    /// The files whose text planning reads and does not have yet. One over [`TEXT_LIMIT`] is none of them; and where all
    /// of them together are over [`TEXTS_LIMIT`], there are none.
    #[must_use]
    pub fn texts_to_read(&self) -> BTreeSet<String> {
        let size =
            |path: &String| self.files.get(path).map(|file| file.size).filter(|size| *size <= TEXT_LIMIT);
        let read = self.named().filter(|named| !named.verbatim).map(|named| named.path);
        let read: BTreeSet<String> = read.filter(|path| size(path).is_some()).collect();
        match read.iter().filter_map(size).sum::<u64>() {
            0..=TEXTS_LIMIT => read.into_iter().filter(|path| !self.texts.contains_key(path)).collect(),
            _ => BTreeSet::new(),
        }
    }

    /// The files whose content somebody has a use for, when the description is planned or when it runs. The others of a
    /// folder are listed, and nothing else: what an image is built from is nobody's on the mesh.
    #[must_use]
    pub fn files_to_hand_over(&self) -> BTreeSet<String> {
        let known = self.files.keys().filter(|path| limit(path).is_some()).cloned();
        let named = self.named().map(|named| named.path).filter(|path| self.files.contains_key(path));
        known.chain(named).collect()
    }

    /// The files that manifests make files from.
    fn named(&self) -> impl Iterator<Item = Named> {
        let manifests = self.texts.iter().filter_map(|(path, bytes)| Some((manifest_of(path)?, bytes)));
        let with_files = manifests.filter(|(folder, _)| self.has_files_beside(folder));
        with_files.flat_map(|(folder, bytes)| named(folder, bytes))
    }

    /// Whether anything but the manifest lies in a module's folder: most have nothing, and are not looked at twice.
    fn has_files_beside(&self, folder: &str) -> bool {
        let start = format!("modules/{folder}/");
        let inside = self.files.range(start.clone()..).take_while(|(path, _)| path.starts_with(&start));
        inside.take(2).count() > 1
    }
}

/// A file that a manifest makes one from.
struct Named {
    path: String,
    /// Whether it is taken as it is.
    verbatim: bool,
}

/// The files that a manifest makes files from, as far as it can be read.
fn named(folder: &str, manifest: &[u8]) -> Vec<Named> {
    let root = std::str::from_utf8(manifest).ok().and_then(|text| yaml::parse(text).root);
    let Some(files) = root.as_ref().and_then(|root| value(root, "files")) else { return Vec::new() };
    let from = |file: &Entry| {
        let verbatim = value(&file.value, "verbatim").and_then(as_boolean) == Some(true);
        match &value(&file.value, "from")?.value {
            Value::Scalar(scalar) => {
                Some(Named { path: format!("modules/{folder}/{}", scalar.text), verbatim })
            }
            _ => None,
        }
    };
    entries(files).iter().filter_map(from).collect()
}

fn entries(node: &Node) -> &[Entry] {
    match &node.value {
        Value::Map(entries) => entries,
        _ => &[],
    }
}

fn value<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    entries(node).iter().find(|entry| entry.key == key).map(|entry| &entry.value)
}

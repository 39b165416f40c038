//! Which files beside manifests planning reads: those that a manifest makes a file from, with placeholders in it.
//!
//! Asked before planning, by whoever gathers a description, since only the manifests say it. What cannot be read of them is
//! refused when planned, and passed over here.

use std::collections::BTreeSet;

use super::{Description, TEXT_LIMIT, manifest_of};
use crate::decode::as_boolean;
use crate::yaml::{self, Entry, Node, Value};

impl Description {
    /// The files whose text planning reads and does not have yet. One over [`TEXT_LIMIT`] is none of them.
    #[must_use]
    pub fn texts_to_read(&self) -> BTreeSet<String> {
        let manifests = self.texts.iter().filter_map(|(path, bytes)| Some((manifest_of(path)?, bytes)));
        let with_files = manifests.filter(|(folder, _)| self.has_files_beside(folder));
        let named = with_files.flat_map(|(folder, bytes)| named(folder, bytes));
        let read = |path: &String| {
            self.files.get(path).is_some_and(|file| file.size <= TEXT_LIMIT) && !self.texts.contains_key(path)
        };
        named.filter(read).collect()
    }

    /// Whether anything but the manifest lies in a module's folder: most have nothing, and are not looked at twice.
    fn has_files_beside(&self, folder: &str) -> bool {
        let start = format!("modules/{folder}/");
        let inside = self.files.range(start.clone()..).take_while(|(path, _)| path.starts_with(&start));
        inside.take(2).count() > 1
    }
}

/// The paths that a manifest makes files from, as far as it can be read.
fn named(folder: &str, manifest: &[u8]) -> Vec<String> {
    let root = std::str::from_utf8(manifest).ok().and_then(|text| yaml::parse(text).root);
    let Some(files) = root.as_ref().and_then(|root| value(root, "files")) else { return Vec::new() };
    let from = |file: &Entry| {
        let verbatim = value(&file.value, "verbatim").and_then(as_boolean) == Some(true);
        match &value(&file.value, "from")?.value {
            Value::Scalar(scalar) if !verbatim => Some(format!("modules/{folder}/{}", scalar.text)),
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

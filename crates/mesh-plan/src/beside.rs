//! The files beside a manifest that a module makes its own files from: text with placeholders, read as those of the manifest
//! are, and refused at its place in that file.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::name::FilePath;
use mesh_model::refusal::{Code, Refusal};

use crate::description::{Description, FileEntry, TEXT_LIMIT, TEXTS_LIMIT};
use crate::manifest::{Content, Manifest};
use crate::model::Module;
use crate::source::Source;
use crate::text::{At, Text};

/// A file beside a manifest, as text.
pub(crate) struct Beside<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) text: Text,
}

/// Reads what manifests make files from, but what they take as it is. `bad-value`: what is no text, or too long for one;
/// `too-large`: all of them together. What is not there is refused elsewhere.
pub(crate) fn read<'a>(description: &'a Description, modules: &mut [Module<'a>], out: &mut Vec<Refusal>) {
    if let Some(refusal) = too_large(description, modules) {
        // Then none of them is read, whatever else may be wrong with it.
        out.push(refusal);
        return;
    }
    for module in modules {
        let mut all = BTreeMap::new();
        for (path, from, entry) in wanted(description, &module.manifest) {
            if all.contains_key(&from.value) {
                continue;
            }
            match text(description.texts.get(&path), entry.size) {
                Ok(text) => {
                    let source = Source::new(path, Some(module.manifest.name.clone()), text);
                    all.insert(from.value.clone(), Beside { text: Text::whole(text), source });
                }
                Err(why) => out.push(refusal(&module.source, from, &why)),
            }
        }
        module.beside = all;
    }
}

/// The files with placeholders that a manifest names and that are there.
fn wanted<'d, 'm>(
    description: &'d Description,
    manifest: &'m Manifest,
) -> impl Iterator<Item = (String, &'m At<FilePath>, &'d FileEntry)> {
    let files = manifest.files.values().filter(|file| !file.value.verbatim);
    files.filter_map(|file| {
        let Some(Content::From(from)) = &file.value.content else { return None };
        let path = format!("modules/{}/{}", manifest.name, from.value);
        let entry = description.files.get(&path)?;
        Some((path, from, entry))
    })
}

/// At the first file that is one too many.
fn too_large(description: &Description, modules: &[Module<'_>]) -> Option<Refusal> {
    let mut total = 0;
    for module in modules {
        let mut seen = BTreeSet::new();
        for (_, from, entry) in wanted(description, &module.manifest) {
            if entry.size > TEXT_LIMIT || !seen.insert(&from.value) {
                continue;
            }
            total += entry.size;
            if total > TEXTS_LIMIT {
                let message = format!(
                    "the files that placeholders are replaced in have more than {TEXTS_LIMIT} bytes together, \
                     with `{}` and those of the modules before",
                    from.value
                );
                let help =
                    "where nothing in a file is to be replaced, say so, and it is not read: `verbatim: true`";
                let mut refusal = module.source.refuse(Code::TooLarge, from.span, message, help.to_owned());
                refusal.name = Some(from.value.to_string());
                return Some(refusal);
            }
        }
    }
    None
}

/// The bytes of a file as text; or why they are none.
fn text(bytes: Option<&Vec<u8>>, size: u64) -> Result<&str, String> {
    if size > TEXT_LIMIT {
        return Err(format!("has {size} bytes, and {TEXT_LIMIT} are the most of one with placeholders"));
    }
    let bytes = bytes.ok_or("was not handed over")?;
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("is not UTF-8 text from byte {} on", error.valid_up_to()))?;
    match text.find('\0') {
        Some(at) => Err(format!("is no text: there is a NUL at byte {at}")),
        None => Ok(text),
    }
}

fn refusal(source: &Source<'_>, from: &At<FilePath>, why: &str) -> Refusal {
    let message = format!("`{}` {why}", from.value);
    let help = "where nothing in it is to be replaced, say so, and it is taken as it is: `verbatim: true`";
    let mut refusal = source.refuse(Code::BadValue, from.span, message, help.to_owned());
    refusal.name = Some(from.value.to_string());
    refusal
}

#[cfg(test)]
mod tests;

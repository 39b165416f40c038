//! The files beside a manifest that a module makes its own files from: text with placeholders, read as those of the manifest
//! are, and refused at its place in that file.

use std::collections::BTreeMap;

use mesh_model::name::FilePath;
use mesh_model::refusal::{Code, Refusal};

use crate::description::{Description, TEXT_LIMIT};
use crate::manifest::{Content, Manifest};
use crate::source::Source;
use crate::text::{At, Text};

/// A file beside a manifest, as text.
pub(crate) struct Beside {
    pub(crate) source: Source,
    pub(crate) text: Text,
}

/// Reads what a manifest makes files from, but what it takes as it is. `bad-value`: what is no text, or too long for one.
/// What is not there is refused elsewhere.
pub(crate) fn read(
    description: &Description,
    manifest: &Manifest,
    source: &Source,
    out: &mut Vec<Refusal>,
) -> BTreeMap<FilePath, Beside> {
    let mut all = BTreeMap::new();
    let files = manifest.files.values().filter(|file| !file.value.verbatim);
    for file in files {
        let Some(Content::From(from)) = &file.value.content else { continue };
        let path = format!("modules/{}/{}", manifest.name, from.value);
        let Some(entry) = description.files.get(&path).filter(|_| !all.contains_key(&from.value)) else {
            continue;
        };
        match text(description.texts.get(&path), entry.size) {
            Ok(text) => {
                let source = Source::new(path, Some(manifest.name.clone()), text.to_owned());
                all.insert(from.value.clone(), Beside { text: Text::whole(text), source });
            }
            Err(why) => out.push(refusal(source, from, &why)),
        }
    }
    all
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

fn refusal(source: &Source, from: &At<FilePath>, why: &str) -> Refusal {
    let message = format!("`{}` {why}", from.value);
    let help = "where nothing in it is to be replaced, say so, and it is taken as it is: `verbatim: true`";
    let mut refusal = source.refuse(Code::BadValue, from.span, message, help.to_owned());
    refusal.name = Some(from.value.to_string());
    refusal
}

#[cfg(test)]
mod tests;

//! Rules about files as texts: how they begin, how long they are, what they must not name.

use std::collections::BTreeMap;

use super::Breach;
use super::tree::Tree;

/// A file longer than this is two files, or has a reason in [`LARGE`].
const LONGEST: usize = 600;

/// Files that may be longer, each with its reason.
const LARGE: [(&str, &str); 0] = [];

/// The first folder of paths that exist on one machine only. (Put together here, so that this file does not name one.)
const MACHINE_FOLDERS: [&str; 2] = [concat!("/", "tmp"), concat!("/", "work")];

/// Every Rust file says first what it is.
pub(super) fn headers(tree: &Tree) -> Vec<Breach> {
    tree.ending(".rs")
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(path, _)| Breach::at(path, 1, "begins with `//!` and a sentence of what the file is"))
        .collect()
}

/// No file is too long to read.
pub(super) fn sizes(tree: &Tree) -> Vec<Breach> {
    tree.ending(".rs")
        .filter(|(path, _)| !LARGE.iter().any(|(large, _)| large == path))
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST)
        .map(|(path, lines)| {
            Breach::of_file(path, format!("has {lines} lines; {LONGEST} is the most without a reason"))
        })
        .collect()
}

/// No text names a folder that other machines do not have, or that everybody may write to.
pub(super) fn machine_paths(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in &tree.files {
        for (number, line) in text.lines().enumerate() {
            if let Some(folder) = MACHINE_FOLDERS.into_iter().find(|folder| names(line, folder)) {
                breaches.push(Breach::at(
                    path,
                    number + 1,
                    format!("names {folder}, a folder of one machine"),
                ));
            }
        }
    }
    breaches
}

/// Whether a line has this absolute path, and not as a part of a longer one.
fn names(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + folder.len()..].chars().next();
        let within = |c: char| c.is_alphanumeric() || "._-/".contains(c);
        !before.is_some_and(|c| within(c) || "})*~$>".contains(c))
            && !after.is_some_and(|c| c.is_alphanumeric() || "_-".contains(c))
    })
}

/// Decisions are numbered, each once, and ARCHITECTURE.md or their own index leads to each.
pub(super) fn decisions(tree: &Tree) -> Vec<Breach> {
    let index = ["ARCHITECTURE.md", "docs/decisions/README.md"];
    let leads_to =
        |name: &str| index.iter().filter_map(|path| tree.files.get(*path)).any(|text| text.contains(name));
    let mut numbers: BTreeMap<&str, &str> = BTreeMap::new();
    let mut breaches = Vec::new();
    for (name, _) in tree.folder("docs/decisions").filter(|(name, _)| *name != "README.md") {
        let path = format!("docs/decisions/{name}");
        let Some(number) = number(name) else {
            breaches.push(Breach::of_file(&path, "is not called NNNN-title.md"));
            continue;
        };
        if let Some(other) = numbers.insert(number, name) {
            breaches.push(Breach::of_file(&path, format!("has the number of {other}")));
        }
        if !leads_to(name) {
            breaches.push(Breach::of_file(&path, format!("is in neither of {}", index.join(", "))));
        }
    }
    breaches
}

/// What the documents tell to run exists.
pub(super) fn commands(tree: &Tree) -> Vec<Breach> {
    let known =
        |word: &str| crate::USAGE.lines().any(|line| line.trim_start().split(' ').next() == Some(word));
    let mut breaches = Vec::new();
    for (path, text) in tree.ending(".md") {
        for (number, line) in text.lines().enumerate() {
            for (_, rest) in
                line.match_indices("cargo xtask ").map(|(at, told)| line.split_at(at + told.len()))
            {
                let word: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
                if !known(&word) {
                    breaches.push(Breach::at(
                        path,
                        number + 1,
                        format!("`cargo xtask {word}` is no command"),
                    ));
                }
            }
        }
    }
    breaches
}

fn number(name: &str) -> Option<&str> {
    let (number, title) = name.strip_suffix(".md")?.split_once('-')?;
    (number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit()) && !title.is_empty())
        .then_some(number)
}

//! Every code of a refusal has its page in `docs/refusals/`, and every page its code.

use std::collections::BTreeSet;

use super::Breach;
use super::tree::Tree;

/// Where the codes are, as `Name = "code",`.
const CODES: &str = "crates/mesh-model/src/refusal.rs";
const PAGES: &str = "docs/refusals";

pub(super) fn pages(tree: &Tree) -> Vec<Breach> {
    let codes: BTreeSet<&str> =
        tree.files.get(CODES).map_or("", String::as_str).lines().filter_map(code).collect();
    if codes.is_empty() {
        return vec![Breach::of_file(
            CODES,
            "has no codes of refusals (`Name = \"code\",`), or is elsewhere now",
        )];
    }
    let mut without = codes.clone();
    let mut breaches = Vec::new();
    for (name, text) in tree.folder(PAGES).filter(|(name, _)| *name != "README.md") {
        let path = format!("{PAGES}/{name}");
        let Some(code) = name.strip_suffix(".md").filter(|code| codes.contains(code)) else {
            breaches.push(Breach::of_file(&path, "is the page of no code"));
            continue;
        };
        without.remove(code);
        if !text.lines().next().is_some_and(|title| title.starts_with('#') && title.contains(code)) {
            breaches.push(Breach::at(&path, 1, format!("begins with a title that names `{code}`")));
        }
    }
    breaches.extend(
        without.into_iter().map(|code| Breach::of_file(&format!("{PAGES}/{code}.md"), "is not written yet")),
    );
    breaches
}

fn code(line: &str) -> Option<&str> {
    let (name, code) = line.trim().strip_suffix("\",")?.split_once(" = \"")?;
    let is_name =
        name.chars().all(|c| c.is_ascii_alphanumeric()) && name.starts_with(|c: char| c.is_ascii_uppercase());
    let is_code = code.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    (is_name && is_code).then_some(code)
}

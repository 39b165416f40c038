//! Every code of a refusal has its page in `docs/refusals/`, a rule in `mesh-plan` that tells it, and a case there that
//! expects it; and every page has its code.

use std::collections::BTreeSet;

use super::Breach;
use super::tree::Tree;

/// Where the codes are, as `Name = "code",`.
const CODES: &str = "crates/mesh-model/src/refusal.rs";
const PAGES: &str = "docs/refusals";
const RULES: &str = "crates/mesh-plan/src/";
const CASES: &str = "crates/mesh-plan/tests/cases/";

pub(super) fn pages(tree: &Tree) -> Vec<Breach> {
    let codes: BTreeSet<&str> = codes(tree).map(|(_, code)| code).collect();
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

/// A code that no rule tells.
pub(super) fn rules(tree: &Tree) -> Vec<Breach> {
    let rules = tree.ending(".rs").filter(|(path, _)| path.starts_with(RULES) && !path.ends_with("tests.rs"));
    let rules: Vec<&str> = rules.map(|(_, text)| text).collect();
    let told = |name: &str| rules.iter().any(|text| names(text, name));
    let without = codes(tree).filter(|(name, _)| !told(name));
    without
        .map(|(_, code)| Breach::of_file(CODES, format!("`{code}` is told by no rule in {RULES}")))
        .collect()
}

/// A code that no case expects.
pub(super) fn cases(tree: &Tree) -> Vec<Breach> {
    let cases: Vec<&str> =
        tree.ending(".case").filter(|(path, _)| path.starts_with(CASES)).map(|(_, text)| text).collect();
    let expected = |code: &str| cases.iter().any(|text| text.contains(&format!("\"code\": \"{code}\"")));
    let without = codes(tree).filter(|(_, code)| !expected(code));
    without.map(|(_, code)| Breach::of_file(CODES, format!("`{code}` has no case in {CASES}"))).collect()
}

/// Whether a text names a code: `Code::BadName`, and not only `Code::BadNames`.
fn names(text: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    text.match_indices(&format!("Code::{name}")).any(|(at, found)| ends(&text[at + found.len()..]))
}

/// Every code: its name in Rust, and how it is written.
fn codes(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.files.get(CODES).map_or("", String::as_str).lines().filter_map(code)
}

fn code(line: &str) -> Option<(&str, &str)> {
    let (name, code) = line.trim().strip_suffix("\",")?.split_once(" = \"")?;
    let is_name =
        name.chars().all(|c| c.is_ascii_alphanumeric()) && name.starts_with(|c: char| c.is_ascii_uppercase());
    let is_code = code.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    (is_name && is_code).then_some((name, code))
}

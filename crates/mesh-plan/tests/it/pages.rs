//! Every page of `docs/refusals` and its code: the wrong example gets exactly that code, the right one nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mesh_model::refusal::Code;
use mesh_plan::{Catalog, Facts, plan};

use crate::case::{describe, shown};

/// The files of an example, by their path.
type Files = BTreeMap<String, String>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/refusals")
}

/// The files that stand below a heading: each a path in backquotes, then a fenced block.
fn files(page: &str, heading: &str) -> Files {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).expect("the page has both examples");
    let section = rest.split("\n## ").next().unwrap();
    let mut files = Files::new();
    let mut path = None;
    let mut lines = section.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix('`').and_then(|line| line.strip_suffix('`')) {
            path = Some(name.to_owned());
        } else if line.starts_with("```") {
            let body: String =
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            files.insert(path.take().expect("a path stands above the block"), body);
        }
    }
    files
}

/// What is told of an example: refusals, or warnings where there are none.
fn told(code: Code, files: &Files) -> (BTreeSet<Code>, String) {
    let files: Vec<(String, String)> = files.clone().into_iter().collect();
    let outcome = plan(&describe(&files), &Catalog::default(), None, &Facts::default());
    let told = if code.as_str().starts_with("unused-") { &outcome.warnings } else { &outcome.refusals };
    assert!(outcome.refusals.is_empty() == outcome.plan.is_some());
    (told.iter().map(|refusal| refusal.code).collect(), shown(told))
}

#[test]
fn the_examples_of_every_page_are_true() {
    for code in Code::ALL {
        let path = folder().join(format!("{code}.md"));
        let page =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let wrong = files(&page, "Wrong");
        let (codes, shown) = told(*code, &wrong);
        assert_eq!(codes, [*code].into(), "the wrong example of {code}:{shown}");
        let mut right = wrong;
        right.extend(files(&page, "Right"));
        let (codes, shown) = told(*code, &right);
        assert!(codes.is_empty(), "the right example of {code}:{shown}");
    }
}

#[test]
fn every_page_has_its_code() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let code = path.file_stem().unwrap().to_str().unwrap();
        assert!(code.parse::<Code>().is_ok() || code == "README", "{code} is not a code");
    }
}

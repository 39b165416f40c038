//! Every case of `tests/cases`, and of the folder that `MESH_CASES` names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mesh_model::refusal::Code;

use crate::case::{Case, cases};

fn folders() -> Vec<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a test has no other edge to be configured at")]
    let more = std::env::var_os("MESH_CASES").map(PathBuf::from);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    std::iter::once(own).chain(more).collect()
}

#[test]
fn every_case_comes_out_as_it_says() {
    let mut faults = Vec::new();
    for path in folders().iter().flat_map(|folder| cases(folder)) {
        let case = Case::read(&std::fs::read_to_string(&path).unwrap());
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        faults.extend(case.faults().into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_code_has_a_case() {
    let own = &folders()[0];
    let mut seen = BTreeSet::new();
    for path in cases(own) {
        let case = Case::read(&std::fs::read_to_string(&path).unwrap());
        for key in ["refused", "warned"] {
            let told = case.expect[key].as_array().into_iter().flatten();
            seen.extend(told.map(|told| told["code"].as_str().unwrap().to_owned()));
        }
    }
    let without: Vec<&Code> = Code::ALL.iter().filter(|code| !seen.contains(code.as_str())).collect();
    assert!(without.is_empty(), "no case for {without:?}");
}

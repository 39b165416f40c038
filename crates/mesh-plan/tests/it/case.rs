//! Reads a case: one JSON object that says what to expect, then the files of a description, each under `-- path --`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mesh_model::refusal::Refusal;
use mesh_plan::{Catalog, Description, Facts, Outcome, plan};
use serde_json::Value;

/// A case as it was read.
pub(crate) struct Case {
    pub(crate) expect: Value,
    pub(crate) files: Vec<(String, String)>,
}

impl Case {
    /// Reads a text.
    pub(crate) fn read(text: &str) -> Self {
        let mut files: Vec<(String, String)> = Vec::new();
        let mut head = String::new();
        for line in text.split_inclusive('\n') {
            let path = line.trim_end().strip_prefix("-- ").and_then(|line| line.strip_suffix(" --"));
            match (path, files.last_mut()) {
                (Some(path), _) => files.push((path.to_owned(), String::new())),
                (None, Some((_, body))) => body.push_str(line),
                (None, None) => head.push_str(line),
            }
        }
        Self { expect: serde_json::from_str(&head).expect("the first lines are JSON"), files }
    }

    /// The description that its files are.
    pub(crate) fn description(&self) -> Description {
        describe(&self.files)
    }

    /// What is not as it says.
    pub(crate) fn faults(&self) -> Vec<String> {
        let outcome = plan(&self.description(), &catalog(), None, &Facts::default());
        let mut faults = Vec::new();
        let ok = outcome.plan.is_some();
        if self.expect["ok"] != Value::Bool(ok) {
            faults.push(format!("ok is {ok}:{}", shown(&outcome.refusals)));
        }
        self.told("refused", &outcome.refusals, &mut faults);
        self.told("warned", &outcome.warnings, &mut faults);
        self.assigned(&outcome, &mut faults);
        faults
    }

    fn told(&self, what: &str, found: &[Refusal], faults: &mut Vec<String>) {
        let mut left: Vec<Value> = found.iter().map(|one| serde_json::to_value(one).unwrap()).collect();
        for want in self.expect[what].as_array().unwrap_or(&Vec::new()) {
            match left.iter().position(|found| fits(found, want)) {
                Some(index) => drop(left.remove(index)),
                None => faults.push(format!("not {what} as {want}:{}", shown(found))),
            }
        }
        if what == "refused" && !left.is_empty() && self.expect["only"] != Value::Bool(false) {
            faults.push(format!("also {what}: {left:?}"));
        }
    }

    fn assigned(&self, outcome: &Outcome, faults: &mut Vec<String>) {
        let Some(want) = self.expect["assigned"].as_object() else { return };
        for (at, want) in want {
            let have =
                outcome.plan.iter().flat_map(|plan| &plan.assignments).find(|(key, _)| key.at() == *at);
            let Some((_, have)) = have else {
                faults.push(format!("{at} is not assigned"));
                continue;
            };
            for (port, number) in want["ports"].as_object().into_iter().flatten() {
                let found = have.ports.get(port.as_str());
                if found.map(|port| Value::from(*port)).as_ref() != Some(number) {
                    faults.push(format!("{at}: port {port} is {found:?}"));
                }
            }
            for (local, from) in want["from"].as_object().into_iter().flatten() {
                let need = have.needs.iter().find(|need| need.local.as_str() == local);
                let found = need.map(|need| format!("{}@{}", need.from.module, need.from.node));
                if found.as_deref() != from.as_str() {
                    faults.push(format!("{at}: {local} is from {found:?}"));
                }
            }
        }
    }
}

/// A description of these files.
pub(crate) fn describe(files: &[(String, String)]) -> Description {
    let mut description = Description::default();
    for (path, text) in files {
        let text = text.replace("… 300 KiB of words …", &"word ".repeat(60 << 10));
        description.insert(path, text.as_bytes());
    }
    description.add_shipped(&catalog());
    for path in description.texts_to_read() {
        let (_, text) = files.iter().find(|(known, _)| *known == path).unwrap();
        description.texts.insert(path, text.clone().into_bytes());
    }
    description
}

/// A catalog of one module.
pub(crate) fn catalog() -> Catalog {
    let manifest =
        "module: depot\ndirs: {answers: {}}\nprovides: {s3-bucket: {answers: \"${dir.answers}/a.json\"}}\n";
    let files = [("module.yaml".to_owned(), manifest.into())].into();
    Catalog { modules: [("depot".parse().unwrap(), files)].into() }
}

fn fits(found: &Value, want: &Value) -> bool {
    let text = format!("{} {}", found["message"], found["help"]).to_lowercase();
    let word = |word: &Value| word.as_str().unwrap().to_lowercase();
    want.as_object().unwrap().iter().all(|(key, value)| match key.as_str() {
        "says" => value.as_array().unwrap().iter().all(|value| text.contains(&word(value))),
        "hides" => !value.as_array().unwrap().iter().any(|value| text.contains(&word(value))),
        _ => found[key] == *value,
    })
}

/// Refusals, one a line.
pub(crate) fn shown(refusals: &[Refusal]) -> String {
    let mut out = String::new();
    for one in refusals {
        let Refusal { code, file, line, column, message, help, .. } = one;
        write!(out, "\n    {file}:{line}:{column} {code}: {message} ({help})").unwrap();
    }
    out
}

/// The cases of a folder.
pub(crate) fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "case"))
        .collect();
    paths.sort();
    paths
}

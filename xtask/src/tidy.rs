//! The house rules, checked: by `cargo xtask tidy`, and by a test of this crate, so that every test run checks them.
//!
//! A rule takes the checkout's texts and returns what breaks it; only [`layers::transitive`] asks cargo. To add a rule,
//! add a function to [`RULES`].

mod layers;
mod refusals;
mod texts;
mod tree;

use std::fmt;
use std::path::PathBuf;

use crate::place::Place;
use crate::shell::{self, say};
use crate::tidy::tree::Tree;

const RULES: [fn(&Tree) -> Vec<Breach>; 11] = [
    texts::headers,
    texts::sizes,
    texts::machine_paths,
    texts::decisions,
    texts::commands,
    layers::lints,
    layers::arrows,
    layers::owners,
    refusals::pages,
    refusals::rules,
    refusals::cases,
];

/// Where a rule is broken, and how.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Breach {
    path: String,
    line: Option<usize>,
    what: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot ask cargo what depends on what")]
    Cargo { source: shell::Error },
    #[error("{count} house rules are broken")]
    Broken { count: usize },
}

/// Checks the checkout, and says each breach in a line.
pub(crate) fn run(place: &Place) -> Result<(), Error> {
    let breaches = breaches(place)?;
    for breach in &breaches {
        say(&breach.to_string());
    }
    match breaches.len() {
        0 => {
            say("tidy");
            Ok(())
        }
        count => Err(Error::Broken { count }),
    }
}

fn breaches(place: &Place) -> Result<Vec<Breach>, Error> {
    let tree = Tree::read(&place.root)?;
    let mut breaches: Vec<Breach> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    breaches.extend(layers::transitive(place).map_err(|source| Error::Cargo { source })?);
    breaches.sort();
    Ok(breaches)
}

impl Breach {
    fn of_file(path: &str, what: impl Into<String>) -> Breach {
        Breach { path: path.to_owned(), line: None, what: what.into() }
    }

    fn at(path: &str, line: usize, what: impl Into<String>) -> Breach {
        Breach { path: path.to_owned(), line: Some(line), what: what.into() }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

#[cfg(test)]
mod tests;

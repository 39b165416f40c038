//! The answers file: what came of each consumer.
//!
//! It is written whole and atomically, and only where it differs, so whoever reads it sees one state or the next and
//! a pass that changed nothing leaves no trace on the disk. An answer outlives a restart: what was answered before
//! stays until this run has something better to say, and goes as soon as its consumer is no longer wanted.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ConsumerId;

/// The answer for one consumer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whose answer this is.
    #[serde(flatten)]
    pub consumer: ConsumerId,
    /// The revision that it answers, as the consumers file had it.
    #[serde(default)]
    pub revision: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of one consumer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// The server accepts it.
    Accepted {
        /// The newest credential that was proved; none where the provision has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credential: Option<String>,
        /// The fields of `gives` that are neither secret nor computed. Always text.
        values: BTreeMap<String, String>,
        /// Why a newer credential is not answered yet, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// It could not be served.
    Failed {
        /// Why, in words for the consumer's operator.
        error: String,
    },
}

/// Why the answers file was not written.
#[derive(Debug, Error)]
#[error("could not {doing} the answers file `{path}`")]
pub struct AnswersError {
    doing: &'static str,
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

/// All answers of a provisioner, and the file that they are in.
#[derive(Debug)]
pub struct Answers {
    path: PathBuf,
    answers: BTreeMap<ConsumerId, Answer>,
}

#[derive(Serialize, Deserialize)]
struct Wire<A> {
    v: u64,
    answers: A,
}

impl Answers {
    /// Takes up the answers that were given before. A file that cannot be read is as good as none: it is ours, and
    /// everything in it can be found out again.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        let before = std::fs::read(path).ok().and_then(|bytes| parse(&bytes)).unwrap_or_default();
        Self { path: path.to_owned(), answers: before.into_iter().map(|a| (a.consumer.clone(), a)).collect() }
    }

    /// The answer for one consumer, if there is one.
    #[must_use]
    pub fn get(&self, consumer: &ConsumerId) -> Option<&Answer> {
        self.answers.get(consumer)
    }

    /// Takes up one answer, and returns the one that it replaces.
    pub fn put(&mut self, answer: Answer) -> Option<Answer> {
        self.answers.insert(answer.consumer.clone(), answer)
    }

    /// Forgets every answer whose consumer is not wanted, and returns those consumers.
    pub fn keep(&mut self, wanted: impl Fn(&ConsumerId) -> bool) -> Vec<ConsumerId> {
        self.answers.extract_if(.., |consumer, _| !wanted(consumer)).map(|(consumer, _)| consumer).collect()
    }

    /// Writes the file where it differs from what is there.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn write(&self) -> Result<(), AnswersError> {
        self.state().write()
    }

    /// The answers as they are now, to be written elsewhere: syncing may take a busy disk a second.
    #[must_use]
    pub fn state(&self) -> State {
        let wire = Wire { v: 1, answers: self.answers.values().collect::<Vec<_>>() };
        let mut bytes = serde_json::to_vec_pretty(&wire).expect("answers are text by text");
        bytes.push(b'\n');
        State { path: self.path.clone(), bytes }
    }
}

/// All answers as they were at one moment.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl State {
    /// Writes the file where it differs from what is there.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn write(&self) -> Result<(), AnswersError> {
        match std::fs::read(&self.path) {
            Ok(there) if there == self.bytes => Ok(()),
            _ => replace(&self.path, &self.bytes),
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Vec<Answer>> {
    let wire: Wire<Vec<Answer>> = serde_json::from_slice(bytes).ok()?;
    (wire.v == 1).then_some(wire.answers)
}

/// Same folder, mode 0600 from the first moment, the file on disk before its name, the name on disk before we go on.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), AnswersError> {
    let told = |doing| move |source| AnswersError { doing, path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = folder.join(format!(".{name}.new"));
    // What a crash left under this name is ours; a link would be followed, so nothing is opened that is there.
    let _ = std::fs::remove_file(&new);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .map_err(told("make a new version of"))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(told("write"))?;
    std::fs::rename(&new, path).map_err(told("replace"))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(told("sync the folder of"))
}

#[cfg(test)]
mod tests;

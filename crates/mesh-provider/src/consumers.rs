//! The consumers file: who is to be served, and with which credentials.
//!
//! It is the whole truth: who is not in it is withdrawn. So it is read strictly, all of it or nothing (a file that
//! cannot be read withdraws nobody), while fields that this version does not know are passed over.
//! An error never quotes the file, because the file holds secrets, and serde's own words would quote it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use mesh_model::name::{FieldName, LocalName, ModuleName, NodeName, ProvisionName};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::Secret;

/// The largest consumers file that is read, in bytes: a hundred times what a thousand consumers need.
pub const LIMIT: u64 = 64 << 20;

/// Who a consumer is: the need `local` of `module` on `node`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConsumerId {
    /// The node that the consumer runs on.
    pub node: NodeName,
    /// The consumer.
    pub module: ModuleName,
    /// The consumer's own name for what it needs.
    pub local: LocalName,
}

impl fmt::Display for ConsumerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}@{}", self.local, self.module, self.node)
    }
}

/// All that one consumers file says.
#[derive(Debug, Clone, Deserialize)]
pub struct Consumers {
    v: u64,
    /// What is provided.
    pub provision: ProvisionName,
    /// Who provides it.
    pub provider: Provider,
    /// Who is to be served.
    pub consumers: Vec<Consumer>,
}

/// The module that provides, on its node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Provider {
    /// The provider's node.
    pub node: NodeName,
    /// The provider's module.
    pub module: ModuleName,
}

/// One consumer.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Entry")]
pub struct Consumer {
    /// Who it is.
    pub id: ConsumerId,
    /// Where it runs.
    pub machine: Machine,
    /// What it hands to the provider.
    pub contribution: Contribution,
    /// Of which state of the plan this is; an answer repeats it.
    pub revision: String,
    /// Its credentials, the newest last.
    pub credentials: Vec<Credential>,
}

/// A consumer as it is written. Not by `flatten`: that copies everything on its way, and loses the place of a fault.
#[derive(Deserialize)]
struct Entry {
    node: NodeName,
    module: ModuleName,
    local: LocalName,
    machine: Machine,
    contribution: Contribution,
    revision: String,
    #[serde(default)]
    credentials: Vec<Credential>,
}

impl From<Entry> for Consumer {
    fn from(entry: Entry) -> Self {
        let Entry { node, module, local, machine, contribution, revision, credentials } = entry;
        Self { id: ConsumerId { node, module, local }, machine, contribution, revision, credentials }
    }
}

/// A consumer's machine.
#[derive(Debug, Clone, Deserialize)]
pub struct Machine {
    /// Its node's name.
    pub name: NodeName,
    /// Where the other nodes reach it, where the mesh knows that.
    #[serde(default)]
    pub address: Option<String>,
}

/// What a consumer hands to a provider, by field.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Contribution(serde_json::Map<String, serde_json::Value>);

impl Contribution {
    /// The field, if it is there and is text.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field)?.as_str()
    }

    /// The field, whatever it is.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&serde_json::Value> {
        self.0.get(field)
    }
}

/// One credential: an id that may be shown, and its secret fields.
#[derive(Debug, Clone, Deserialize)]
pub struct Credential {
    /// Which credential this is.
    pub id: String,
    /// Its secrets, by field.
    #[serde(deserialize_with = "secrets")]
    pub secrets: BTreeMap<FieldName, Secret>,
}

fn secrets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<FieldName, Secret>, D::Error> {
    let texts = BTreeMap::<FieldName, String>::deserialize(deserializer)?;
    Ok(texts.into_iter().map(|(field, text)| (field, Secret::from(text))).collect())
}

/// Why a consumers file was not read.
#[derive(Debug, Error)]
pub enum ConsumersError {
    /// There is no such file.
    #[error("there is no consumers file `{path}`")]
    Missing {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The system would not let it be read.
    #[error("could not read the consumers file `{path}`")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// More than [`LIMIT`] bytes.
    #[error("the consumers file `{path}` has more than {LIMIT} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// Nothing in it.
    #[error("the consumers file `{path}` is empty")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It ends too early.
    #[error("the consumers file `{path}` ends in the middle, at line {line}, column {column}")]
    HalfWritten {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// Not JSON, or JSON of another shape.
    #[error("the consumers file `{path}` is not {expected}, as line {line}, column {column} shows")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What it should have been.
        expected: &'static str,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// Written for another version of the contract.
    #[error("the consumers file `{path}` is of version {v}, and this program reads version 1")]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        v: u64,
    },
    /// What must be there once is there twice.
    #[error("the consumers file `{path}` names {what} twice")]
    Twice {
        /// The file.
        path: PathBuf,
        /// A consumer, or a credential of one.
        what: String,
    },
    /// An id that nothing could be derived from.
    #[error(
        "the consumers file `{path}` has a credential of {consumer} whose id is not 1 to 128 printable bytes"
    )]
    CredentialId {
        /// The file.
        path: PathBuf,
        /// Whose credential.
        consumer: ConsumerId,
    },
}

impl Consumers {
    /// Reads a consumers file: all of it, or an error.
    ///
    /// # Errors
    /// Whatever is wrong with the file, without a word of what it holds.
    pub fn read(path: &Path) -> Result<Self, ConsumersError> {
        let bytes = read_bounded(path)?;
        Self::parse(path, &bytes)
    }

    /// Reads what a consumers file holds; `path` is for the errors.
    ///
    /// # Errors
    /// As [`Consumers::read`].
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, ConsumersError> {
        let path_buf = || path.to_owned();
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(ConsumersError::Empty { path: path_buf() });
        }
        let read: Result<Self, _> = serde_json::from_slice(bytes);
        if let Some(v) = version(bytes).filter(|v| *v != 1) {
            return Err(ConsumersError::Version { path: path_buf(), v });
        }
        let consumers = read.map_err(|error| malformed(path_buf(), &error))?;
        consumers.check(path)?;
        Ok(consumers)
    }

    fn check(&self, path: &Path) -> Result<(), ConsumersError> {
        debug_assert_eq!(self.v, 1, "another version was refused before");
        let twice = |what: String| ConsumersError::Twice { path: path.to_owned(), what };
        let mut seen = BTreeSet::new();
        for consumer in &self.consumers {
            if !seen.insert(&consumer.id) {
                return Err(twice(consumer.id.to_string()));
            }
            let mut ids = BTreeSet::new();
            for credential in &consumer.credentials {
                if !is_credential_id(&credential.id) {
                    let consumer = consumer.id.clone();
                    return Err(ConsumersError::CredentialId { path: path.to_owned(), consumer });
                }
                if !ids.insert(&credential.id) {
                    return Err(twice(format!("credential {} of {}", credential.id, consumer.id)));
                }
            }
        }
        Ok(())
    }
}

fn is_credential_id(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic())
}

/// Just the version, since a file of a later one may have any other shape.
fn version(bytes: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Version {
        v: u64,
    }
    serde_json::from_slice::<Version>(bytes).ok().map(|version| version.v)
}

fn malformed(path: PathBuf, error: &serde_json::Error) -> ConsumersError {
    let (line, column) = (error.line(), error.column());
    let expected = match error.classify() {
        Category::Eof => return ConsumersError::HalfWritten { path, line, column },
        Category::Syntax | Category::Io => "JSON",
        Category::Data => "of the shape that the contract gives it",
    };
    ConsumersError::Malformed { path, expected, line, column }
}

/// The whole file, wiped when dropped; read into a buffer that never grows, so that no copy is left behind.
pub(crate) fn read_bounded(path: &Path) -> Result<Zeroizing<Vec<u8>>, ConsumersError> {
    let unreadable = |source: std::io::Error| {
        let path = path.to_owned();
        match source.kind() {
            std::io::ErrorKind::NotFound => ConsumersError::Missing { path, source },
            _ => ConsumersError::Unreadable { path, source },
        }
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    if length > LIMIT {
        return Err(ConsumersError::TooLarge { path: path.to_owned() });
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 64));
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LIMIT {
        return Err(ConsumersError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;

//! `mesh-provisioner.provisioning`: who answers what, who needs what, what came of it. It reads only.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::name::{CollectionName, ModuleName, NodeName};

/// What the question is about: one bucket each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum What {
    /// Which domain answers which kind.
    #[default]
    Registry,
    /// What modules need, and whether it is met.
    Needs,
    /// What nodes have rendered and started.
    Applied,
    /// What modules add to collections.
    Collect,
}

/// A word that the verb has nothing for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is none of `registry`, `needs`, `applied` and `collect`")]
pub struct NotAWhat(String);

impl What {
    /// Every one, in the order of the contract.
    pub const ALL: [Self; 4] = [Self::Registry, Self::Needs, Self::Applied, Self::Collect];

    /// The word as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Registry => "registry",
            Self::Needs => "needs",
            Self::Applied => "applied",
            Self::Collect => "collect",
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for What {
    type Err = NotAWhat;

    fn from_str(text: &str) -> Result<Self, NotAWhat> {
        Self::ALL.into_iter().find(|what| what.as_str() == text).ok_or_else(|| NotAWhat(text.to_owned()))
    }
}

impl TryFrom<String> for What {
    type Error = NotAWhat;

    fn try_from(text: String) -> Result<Self, NotAWhat> {
        text.parse()
    }
}

impl From<What> for String {
    fn from(what: What) -> String {
        what.as_str().to_owned()
    }
}

/// The question. All of it may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProvisioningAsk {
    /// Which bucket.
    #[serde(default)]
    pub what: What,
    /// Entries of this node alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<NodeName>,
    /// Entries of this module alone; for `collect` the contributor.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub module: Option<ModuleName>,
    /// Entries of this collection alone; goes with `collect`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub collection: Option<CollectionName>,
    /// How many entries at most: 1 to 1,000, which it is where it is left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit: Option<usize>,
    /// Go on behind this: the `next` of the answer before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<String>,
}

/// A page of a bucket.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProvisioningAnswer {
    /// Which bucket.
    pub what: What,
    /// The values as they are in it, in the order of their keys.
    pub entries: Vec<Value>,
    /// What is in it and is not as it should be.
    pub misshapen: Vec<Misshapen>,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// A key out of its bucket's shape, or a value that is not what its key says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misshapen {
    /// The bucket.
    pub bucket: String,
    /// The key.
    pub key: String,
    /// What is wrong with it.
    pub why: String,
}

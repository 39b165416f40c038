//! The first word of a placeholder: what kind of thing it stands for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a placeholder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A setting.
    Config,
    /// A secret of the module's own.
    Secret,
    /// A field that the provider of a need gives.
    Bound,
    /// This provider's consumers, with their credentials.
    Consumers,
    /// The items of a collection on this node.
    Collected,
    /// The items of `shell:…` on this node.
    Shell,
    /// The items of `environment:…` on this node.
    Environment,
    /// This provider's consumers, without credentials.
    Contribution,
    /// A folder of the module.
    Dir,
    /// Where a port of another module is reached from this node.
    Access,
    /// A port of the module.
    Port,
    /// The node that holds a seat.
    Seat,
    /// This node.
    Machine,
    /// A file of the module.
    File,
    /// The module itself, in `with`.
    Module,
    /// The consumer, in a provider's `takes` and `gives`.
    Consumer,
    /// Another field, in a provider's `gives`.
    Gives,
}

impl Kind {
    /// Every kind, in the order of the vocabulary.
    pub const ALL: [Self; 17] = [
        Self::Config,
        Self::Secret,
        Self::Bound,
        Self::Consumers,
        Self::Collected,
        Self::Shell,
        Self::Environment,
        Self::Contribution,
        Self::Dir,
        Self::Access,
        Self::Port,
        Self::Seat,
        Self::Machine,
        Self::File,
        Self::Module,
        Self::Consumer,
        Self::Gives,
    ];

    /// The word as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Secret => "secret",
            Self::Bound => "bound",
            Self::Consumers => "consumers",
            Self::Collected => "collected",
            Self::Shell => "shell",
            Self::Environment => "environment",
            Self::Contribution => "contribution",
            Self::Dir => "dir",
            Self::Access => "access",
            Self::Port => "port",
            Self::Seat => "seat",
            Self::Machine => "machine",
            Self::File => "file",
            Self::Module => "module",
            Self::Consumer => "consumer",
            Self::Gives => "gives",
        }
    }
}

/// A word that is no kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("that is not a kind")]
pub struct NotAKind;

impl FromStr for Kind {
    type Err = NotAKind;

    fn from_str(text: &str) -> Result<Self, NotAKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(NotAKind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

//! The entries of the roster, as they are kept.

use mesh_model::wire::{NodeFacts, Timestamp, V1};
use serde::{Deserialize, Serialize};

/// A node that has joined, or that has told of itself; or one that was taken off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub(super) v: V1,
    /// The public half of its bus key (`U…`); absent where it was let in by somebody else, and told its facts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub user: Option<String>,
    /// What it told of its machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub facts: Option<NodeFacts>,
    /// When it last did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seen: Option<Timestamp>,
    /// How often its account has ended.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub(super) epoch: u64,
    /// Its account is to end: begun, and not known to be finished.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(super) ending: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Node {
    /// Whether it is in the mesh.
    pub(super) fn is_there(&self) -> bool {
        self.user.is_some() || self.facts.is_some()
    }
}

/// An operator who was let in. By which keys is not kept: each is signed by itself, with its own end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Operator {
    pub(super) v: V1,
}

/// Somebody who was invited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Invited {
    pub(super) v: V1,
    /// The public half of the one-time key (`U…`).
    pub(super) user: String,
    /// Until when it is good.
    pub(super) until: Timestamp,
    /// The public half of the key that was let in by it (`U…`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) used: Option<String>,
}

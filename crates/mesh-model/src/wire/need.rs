//! `mesh-provisioner_needs`: one thing that a module on a node requires, and whether it has it.

use serde::{Deserialize, Serialize};

use super::{Timestamp, V1};
use crate::kind::Kind;
use crate::name::{ModuleName, NodeName};

/// One need, as the node's own client sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedRecord {
    /// The version of this shape.
    pub v: V1,
    /// The node.
    pub node: NodeName,
    /// The module that needs it.
    pub module: ModuleName,
    /// What kind of thing it is.
    pub kind: Kind,
    /// What it is called within its kind.
    pub name: String,
    /// Whether it is met.
    pub state: NeedState,
    /// What it waits for, where it waits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// Who answers: a seat or a providing module.
    pub owner: String,
    /// The provider's node, for a provision.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<NodeName>,
    /// Since when it is in this state.
    pub since: Timestamp,
}

/// Whether a need is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NeedState {
    /// Its value is known.
    Met,
    /// Its value is not known yet.
    Waiting,
}

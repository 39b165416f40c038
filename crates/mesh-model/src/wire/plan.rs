//! `mesh-controller_plan`: the plan that is in effect.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Timestamp, V1};
use crate::digest::Digest;
use crate::name::{NodeName, PortName};

/// The plan in effect, by what it says. The assignments follow from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// The version of this shape.
    pub v: V1,
    /// The digest of what it says.
    pub id: Digest,
    /// The plan that it follows; absent for the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub follows: Option<Digest>,
    /// The digest of the description's listing.
    pub description: Digest,
    /// What was decided once and is kept, for each `<module>@<node>`.
    pub placement: BTreeMap<String, Placement>,
    /// What was known of the nodes when this was planned: for each, the folder that its modules live under.
    #[serde(default)]
    pub roots: BTreeMap<NodeName, String>,
    /// The ports of each address that something outside the mesh held when this was planned.
    #[serde(default)]
    pub held: BTreeMap<String, BTreeSet<u16>>,
    /// The age recipients to whom every secret is to be sealed too, once they are confirmed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub escrow: Vec<String>,
    /// Who applied it.
    pub by: String,
    /// When it took effect.
    pub at: Timestamp,
}

/// What was decided for one module on one node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Placement {
    /// Its ports.
    #[serde(default)]
    pub ports: BTreeMap<PortName, u16>,
}

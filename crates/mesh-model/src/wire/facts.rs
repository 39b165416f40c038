//! `mesh-controller.facts.<node>`: what a node tells of its machine, for placing what is new.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What a node knows of its machine and the plan cannot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeFacts {
    /// The node's state folder, an absolute path: its modules live below it.
    pub root: String,
    /// The TCP ports that something outside the mesh listens on.
    #[serde(default)]
    pub held: BTreeSet<u16>,
}

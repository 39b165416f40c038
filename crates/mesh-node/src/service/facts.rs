//! What a node tells the controller of its machine, for placing what is new: where its folder is, and which ports are held
//! by something outside the mesh.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mesh_model::wire::NodeFacts;

use crate::host::ports;

/// The facts of this machine, as long as nothing of the mesh runs on it. `state` is the node's folder.
#[must_use]
pub fn facts(state: &Path) -> NodeFacts {
    gather(state, &BTreeSet::new())
}

/// The facts of this machine. `ours` are the ports that the mesh's own services hold.
#[must_use]
pub(super) fn gather(state: &Path, ours: &BTreeSet<u16>) -> NodeFacts {
    let mut held: BTreeMap<String, BTreeSet<u16>> = BTreeMap::new();
    for (port, holder) in ports::held() {
        if !ours.contains(&port) {
            held.entry(holder.address.to_string()).or_default().insert(port);
        }
    }
    NodeFacts { root: state.display().to_string(), held }
}

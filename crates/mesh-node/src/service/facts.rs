//! What a node tells the controller of its machine, for placing what is new: where its folder is, and which ports are held
//! by something outside the mesh.

use std::collections::BTreeSet;
use std::path::Path;

use mesh_model::wire::NodeFacts;

use crate::host::ports;

/// The facts of this machine. `ours` are the ports that the mesh's own services hold.
#[must_use]
pub fn gather(state: &Path, ours: &BTreeSet<u16>) -> NodeFacts {
    let held = ports::held().into_keys().filter(|port| !ours.contains(port)).collect();
    NodeFacts { root: state.display().to_string(), held }
}

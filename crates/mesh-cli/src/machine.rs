//! The nodes of this machine, run in this process: one that has joined the mesh of a server elsewhere, or those that
//! [`enrolled`] lets in beside their control plane.

use std::path::{Path, PathBuf};

use mesh_bus::Bus;
use mesh_model::name::NodeName;
use mesh_model::wire::Timestamp;
use mesh_node::config::Config;
use mesh_node::host::Program;
use mesh_node::identity::{Identity, Joined};
use time::OffsetDateTime;

pub(crate) mod enrolled;

/// What a node is run with, beside who it is.
pub(crate) struct Machine {
    /// This program.
    pub(crate) program: PathBuf,
    /// The machine's `TZ`.
    pub(crate) time_zone: Option<String>,
}

impl Machine {
    /// What a node is started with.
    pub(crate) fn config(
        &self,
        node: &NodeName,
        state: &Path,
        identity: Identity,
        joined: Joined,
        bus: Bus,
    ) -> Config {
        Config {
            mesh: joined.mesh,
            node: node.clone(),
            state: state.to_owned(),
            bus,
            sealing: identity.sealing,
            signer: joined.signer,
            digests: identity.digests,
            program: Program { path: self.program.clone(), arguments: vec!["shim".to_owned()] },
            time_zone: self.time_zone.clone(),
            now: || Timestamp::new(OffsetDateTime::now_utc()),
        }
    }
}

//! What the vault is told when it starts.

use std::path::PathBuf;
use std::time::Duration;

use mesh_bus::Bus;
use mesh_bus::authority::Clock;
use mesh_model::name::{MeshName, NodeName};

/// What the vault is told when it starts.
#[derive(Debug, Clone)]
pub struct Config {
    /// The connection, as the holder of the seat `mesh-vault`.
    pub bus: Bus,
    /// The connection to the vault's own account, where its store is followed.
    pub own: Bus,
    /// The mesh.
    pub mesh: MeshName,
    /// The node that it runs on.
    pub node: NodeName,
    /// Its own folder, made for its owner alone: the store and the signing key.
    pub folder: PathBuf,
    /// How long the seat is held after the last renewal.
    pub lease: Duration,
    /// How long something must have been wanted by nobody before it is dropped: a bus whose
    /// assignments are just being written again takes nothing away. Taking back is not waited for: a
    /// provider hears it from its own assignment.
    pub grace: Duration,
    /// What time it is, for the lease to say.
    pub clock: Clock,
}

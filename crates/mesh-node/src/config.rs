//! What a node is started with.

use std::path::PathBuf;

use mesh_bus::Bus;
use mesh_model::name::{MeshName, NodeName};
use mesh_model::wire::Timestamp;
use mesh_seal::{DigestKey, SealingKey, VerifyingKey};

use crate::host::Program;

/// What a node is started with.
pub struct Config {
    /// The mesh that it joined.
    pub mesh: MeshName,
    /// Its name.
    pub node: NodeName,
    /// Its state folder, an absolute path: everything that it keeps is below it.
    pub state: PathBuf,
    /// The bus, under the node's own account.
    pub bus: Bus,
    /// Opens what is sealed to this node. It never leaves the machine.
    pub sealing: SealingKey,
    /// The key that the mesh's vault signs with.
    pub signer: VerifyingKey,
    /// Digests what holds secrets. It never leaves the machine.
    pub digests: DigestKey,
    /// The program that keeps services, and how it is called for that.
    pub program: Program,
    /// The `TZ` that services are given.
    pub time_zone: Option<String>,
    /// The wall clock: told to people, never compared.
    pub now: fn() -> Timestamp,
}

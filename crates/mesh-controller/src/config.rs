//! What the service is started with.

use std::sync::Arc;
use std::time::Duration;

use mesh_bus::Bus;
use mesh_bus::authority::Clock;
use mesh_model::name::NodeName;
use mesh_plan::Catalog;

use crate::mirror::{PATIENCE, PERIOD};
use crate::roster::{Entrance, Roster};

/// What the service is started with.
#[derive(Debug, Clone)]
pub struct Config {
    /// A connection as the seat.
    pub bus: Bus,
    /// Who has joined: the one roster of this control plane, which lets nodes and operators in.
    pub roster: Arc<Roster>,
    /// What somebody who joins is told; none where nobody can, the bus being on the loopback alone.
    pub entrance: Option<Entrance>,
    /// The modules that ship with mesh.
    pub catalog: Catalog,
    /// The node that it runs on, which takes the seat.
    pub node: NodeName,
    /// How long the seat is held after the last renewal.
    pub lease: Duration,
    /// How often the bus is looked at where nothing happens.
    pub period: Duration,
    /// How long a provider that goes waits for the same thing.
    pub patience: Duration,
    /// What time it is.
    pub clock: Clock,
}

impl Config {
    /// With the usual periods: a lease of three seconds, a look each half minute, and as long for who is gone. Nobody can
    /// join.
    #[must_use]
    pub fn new(bus: Bus, roster: Arc<Roster>, catalog: Catalog, node: NodeName, clock: Clock) -> Self {
        let lease = Duration::from_secs(3);
        Self { bus, roster, entrance: None, catalog, node, lease, period: PERIOD, patience: PATIENCE, clock }
    }
}

//! What the service is started with.

use std::time::Duration;

use mesh_bus::Bus;
use mesh_bus::authority::Clock;
use mesh_model::name::NodeName;

/// What the service is started with.
#[derive(Debug, Clone)]
pub struct Config {
    /// A connection as the seat.
    pub bus: Bus,
    /// The node that it runs on, which takes the seat.
    pub node: NodeName,
    /// How long the seat is held after the last renewal.
    pub lease: Duration,
    /// How often the registry is compared with the table.
    pub period: Duration,
    /// What time it is, to say since when the seat is held.
    pub clock: Clock,
}

impl Config {
    /// With the usual periods: a lease of three seconds, a comparison each hour.
    #[must_use]
    pub fn new(bus: Bus, node: NodeName, clock: Clock) -> Self {
        Self { bus, node, lease: Duration::from_secs(3), period: Duration::from_secs(3600), clock }
    }
}

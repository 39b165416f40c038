//! What a client, and a target, may take: sizes, times, numbers.
//!
//! Each has a value that fits a machine which somebody owns and puts on the internet, so that nothing has to be set.

use std::time::Duration;

use crate::gate::Sizes;

/// The limits.
#[derive(Debug, Clone)]
pub struct Limits {
    /// What a request's head may be.
    pub sizes: Sizes,
    /// How long a head may take from its first byte, and a connection until its first.
    pub head: Duration,
    /// How long a connection may stay without a request.
    pub idle: Duration,
    /// How long either side may keep us waiting for a body.
    pub stall: Stall,
    /// Connections at once; what comes beyond waits to be accepted.
    pub connections: usize,
    /// Requests at once on one HTTP/2 connection.
    pub streams: u32,
    /// How long to a connection with a target.
    pub connect: Duration,
    /// How long to the head of a target's answer.
    pub answer: Duration,
    /// How long a connection to a target is kept without a request.
    pub target_idle: Duration,
    /// Connections without a request that are kept to one target, for each worker.
    pub target_spare: usize,
    /// How long what was begun may go on once we are asked to stop.
    pub drain: Duration,
    /// How long what was begun may go on once its route is withdrawn.
    pub withdrawn: Duration,
}

/// How slow a transfer may be.
#[derive(Debug, Clone, Copy)]
pub struct Stall {
    /// How long it may stand still.
    pub still: Duration,
    /// The bytes a second that make up for it.
    pub rate: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sizes: Sizes::default(),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            stall: Stall { still: Duration::from_secs(60), rate: 500 },
            connections: 50_000,
            streams: 128,
            connect: Duration::from_secs(2),
            answer: Duration::from_secs(60),
            target_idle: Duration::from_secs(30),
            target_spare: 64,
            drain: Duration::from_secs(10),
            withdrawn: Duration::from_secs(10),
        }
    }
}

//! What a module's services are doing, for whoever reports it.

use std::collections::BTreeMap;

/// One module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModuleState {
    /// Each of its services, those that are on their way out too.
    pub services: BTreeMap<String, ServiceState>,
}

/// One service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceState {
    /// What it is doing.
    pub state: RunState,
    /// How often it was started again after it had ended by itself.
    pub restarts: u32,
    /// Where it is not running: what it waits for, or what went wrong.
    pub why: Option<String>,
    /// The digest that it was last started with.
    pub digest: Option<String>,
    /// The reload digest that it was last started with or sent SIGHUP for.
    pub reload_digest: Option<String>,
}

/// What a service is doing, in the words of the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// Up and healthy.
    Running,
    /// Waiting for another, preparing, or up and not healthy yet.
    Starting,
    /// Up, and no longer healthy.
    Unhealthy,
    /// Ended with 0, and its policy lets it; or being stopped.
    Stopped,
    /// Ended, and about to be tried again unless its policy forbids it.
    Failed,
}

impl RunState {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Starting => "starting",
            Self::Unhealthy => "unhealthy",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }
}

impl ServiceState {
    /// Whether this is the service of those digests, and nothing is left to wait for: healthy, or ended with 0 where
    /// its policy lets it end.
    pub fn is_settled(&self, digest: &str, reload_digest: &str) -> bool {
        matches!(self.state, RunState::Running | RunState::Stopped)
            && self.digest.as_deref() == Some(digest)
            && self.reload_digest.as_deref() == Some(reload_digest)
    }
}

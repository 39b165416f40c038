//! The machine's state in the words that others read.

use super::{Ending, Machine, ModuleState, Phase, RunState, Service, ServiceState};

impl Machine {
    /// What the module's services are doing.
    pub(in crate::host) fn state(&self) -> ModuleState {
        let mut services: std::collections::BTreeMap<_, _> =
            self.services.iter().map(|(name, service)| (name.clone(), service.told())).collect();
        let mut before: Option<&str> = None;
        for one in &self.wanted {
            let Some(service) = self.services.get(&one.name) else { continue };
            if let (Some(before), Phase::Due, Some(told)) =
                (before, service.phase, services.get_mut(&one.name))
            {
                told.why = Some(format!("waits for `{before}` to be healthy"));
            }
            if before.is_none() && !service.phase.is_ready() {
                before = Some(&one.name);
            }
        }
        ModuleState { services }
    }
}

impl Service {
    fn told(&self) -> ServiceState {
        let state = match self.phase {
            Phase::Due | Phase::Preparing | Phase::Starting => RunState::Starting,
            Phase::Healthy { .. } => RunState::Running,
            Phase::Unhealthy => RunState::Unhealthy,
            Phase::Stopping | Phase::Over(Ending::Clean) => RunState::Stopped,
            Phase::Waiting { .. } | Phase::Over(_) => RunState::Failed,
        };
        // While it is being tried again, what went wrong the last time is still what there is to say.
        let why = self.why.as_ref().map(|why| match self.backoff.failures() {
            times @ 2.. if state != RunState::Unhealthy => format!("{why} ({times} times in a row)"),
            _ => why.clone(),
        });
        // One that is being stopped is not the one that was asked for.
        let is_current = self.phase != Phase::Stopping && self.phase != Phase::Due;
        ServiceState {
            state,
            restarts: self.restarts,
            why,
            digest: self.digest.clone().filter(|_| is_current),
            reload_digest: self.reload_digest.clone().filter(|_| is_current),
        }
    }
}

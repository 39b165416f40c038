//! What to do about a module's services: pure, one step an event.
//!
//! [`Machine::step`] takes what happened and when, and says what to do. It looks at the whole each time: what is wanted,
//! what there is, and so what is next; that is the same at the start, after a change and after a crash. It knows no
//! process and no clock; chance comes with the moment.
//!
//! A *run* is one attempt at a service, from its preparation to its end. Runs are numbered, so that what is heard of one
//! that is over changes nothing.

use std::{collections::BTreeMap, time::Duration};

use super::{
    desired::Restart,
    state::{ModuleState, RunState, ServiceState},
};

mod backoff;
mod told;

use backoff::Backoff;

/// So many bad answers in a row, and a service that was healthy no longer is.
const UNHEALTHY_AFTER: u32 = 3;

/// When something happens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Since some fixed moment.
    pub(super) at: Duration,
    /// From 0 to 1, at random: many that fail together must not come back together.
    pub(super) chance: f64,
}

/// What the machine has to know of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) digest: String,
    pub(super) reload_digest: String,
    pub(super) restart: Restart,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// The module should be this from now on, in this order.
    Desired(Vec<Wanted>),
    /// A run's preparations are done, and its process is there.
    Started { run: Run },
    /// A run's health was looked at.
    Healthy { run: Run },
    /// As before, with what was wrong.
    Unhealthy { run: Run, why: String },
    /// A run is over, and nothing of it is left.
    Ended { run: Run, ending: Ending, why: String },
    /// Time went by.
    Tick,
}

/// One attempt at one service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub(super) service: String,
    pub(super) number: u64,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// With 0.
    Clean,
    /// In any other way.
    Failed,
    /// Before its process was there: a preparation failed, a folder is closed.
    NotStarted,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Begin a run; the module's temporary folders as said.
    Start { run: Run, folders: Folders },
    /// Ask it to stop.
    Stop { run: Run },
    /// Send it SIGHUP.
    Reload { run: Run },
}

/// What to do about the module's temporary folders before a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folders {
    /// Another service of the module is using them.
    Keep,
    /// Nothing of the module runs: it starts anew.
    Empty,
}

/// All services of one module.
#[derive(Debug, Default)]
pub(super) struct Machine {
    wanted: Vec<Wanted>,
    services: BTreeMap<String, Service>,
    /// Every service there is, in the order in which they started.
    order: Vec<String>,
    runs: u64,
}

#[derive(Debug, Default)]
struct Service {
    phase: Phase,
    run: u64,
    restarts: u32,
    backoff: Backoff,
    /// Bad answers in a row.
    unwell: u32,
    why: Option<String>,
    digest: Option<String>,
    reload_digest: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    /// To be started as soon as those before it are ready.
    #[default]
    Due,
    Preparing,
    Starting,
    Healthy {
        since: Duration,
    },
    Unhealthy,
    Stopping,
    /// It ended by itself, and is started again then.
    Waiting {
        until: Duration,
    },
    /// It ended by itself, and its policy leaves it so.
    Over(Ending),
}

impl Phase {
    /// Whether something of it runs.
    fn is_live(self) -> bool {
        !matches!(self, Self::Due | Self::Waiting { .. } | Self::Over(_))
    }

    /// Whether those after it may start.
    fn is_ready(self) -> bool {
        matches!(self, Self::Healthy { .. } | Self::Over(Ending::Clean))
    }
}

impl Machine {
    /// What follows from an event.
    pub(super) fn step(&mut self, moment: Moment, event: Event) -> Vec<Action> {
        self.take_in(moment, event);
        let mut actions = Vec::new();
        self.stop_what_should(&mut actions);
        self.start_what_should(moment, &mut actions);
        self.reload_what_should(&mut actions);
        actions
    }

    /// When to step again though nothing happens.
    pub(super) fn wake(&self) -> Option<Duration> {
        let until = |service: &Service| match service.phase {
            Phase::Waiting { until } => Some(until),
            _ => None,
        };
        self.services.values().filter_map(until).min()
    }

    /// Whether nothing is wanted and nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.services.is_empty()
    }

    fn take_in(&mut self, moment: Moment, event: Event) {
        match event {
            Event::Desired(wanted) => self.desire(wanted),
            Event::Started { run } => {
                if let Some(service) = self.of(&run).filter(|service| service.phase == Phase::Preparing) {
                    service.phase = Phase::Starting;
                }
            }
            Event::Healthy { run } => {
                if let Some(service) = self.of(&run) {
                    service.is_well(moment);
                }
            }
            Event::Unhealthy { run, why } => {
                if let Some(service) = self.of(&run) {
                    service.is_unwell(why);
                }
            }
            Event::Ended { run, ending, why } => self.end(moment, &run, ending, why),
            Event::Tick => {}
        }
    }

    /// The service of that run, unless the run is over.
    fn of(&mut self, run: &Run) -> Option<&mut Service> {
        self.services
            .get_mut(&run.service)
            .filter(|service| service.run == run.number && service.phase.is_live())
    }

    fn desire(&mut self, wanted: Vec<Wanted>) {
        for one in &wanted {
            let service = self.services.entry(one.name.clone()).or_default();
            let is_changed = service.digest.as_ref().is_some_and(|digest| *digest != one.digest);
            // What made it fail may be mended: no need to wait.
            if is_changed && !service.phase.is_live() {
                *service = Service { restarts: service.restarts, ..Service::default() };
            }
        }
        let gone: Vec<String> =
            self.order.iter().filter(|name| wanted.iter().all(|one| one.name != **name)).cloned().collect();
        self.order = wanted.iter().map(|one| one.name.clone()).chain(gone).collect();
        self.wanted = wanted;
        self.forget_the_gone();
    }

    /// Those that nobody wants and of which nothing runs.
    fn forget_the_gone(&mut self) {
        let Self { wanted, services, order, .. } = self;
        services
            .retain(|name, service| service.phase.is_live() || wanted.iter().any(|one| one.name == *name));
        order.retain(|name| services.contains_key(name));
    }

    fn end(&mut self, moment: Moment, run: &Run, ending: Ending, why: String) {
        let policy = self.wanted.iter().find(|one| one.name == run.service).map(|one| one.restart);
        let Some(service) = self.of(run) else { return };
        service.end(moment, ending, why, policy);
        self.forget_the_gone();
    }

    fn stop_what_should(&mut self, actions: &mut Vec<Action>) {
        let Self { wanted, services, order, .. } = self;
        for one in wanted.iter() {
            if let Some(service) = services.get_mut(&one.name)
                && service.phase.is_live()
                && service.digest.as_ref() != Some(&one.digest)
            {
                service.stop(&one.name, actions);
            }
        }
        // Those that nobody wants: the last first, the one before it when it is gone.
        let last = order.iter().rev().find(|name| wanted.iter().all(|one| one.name != **name));
        if let Some((name, service)) = last.and_then(|name| Some((name, services.get_mut(name)?))) {
            service.stop(name, actions);
        }
    }

    fn start_what_should(&mut self, moment: Moment, actions: &mut Vec<Action>) {
        for one in &self.wanted {
            let is_any_live = self.services.values().any(|service| service.phase.is_live());
            let Some(service) = self.services.get_mut(&one.name) else { continue };
            if service.is_due(moment) {
                self.runs += 1;
                let run = Run { service: one.name.clone(), number: self.runs };
                service.start(one, self.runs);
                let folders = if is_any_live { Folders::Keep } else { Folders::Empty };
                actions.push(Action::Start { run, folders });
            }
            if !service.phase.is_ready() {
                return;
            }
        }
    }

    fn reload_what_should(&mut self, actions: &mut Vec<Action>) {
        for one in &self.wanted {
            // Not before it is up: a program that does not expect SIGHUP yet is ended by it.
            if let Some(service) = self.services.get_mut(&one.name)
                && matches!(service.phase, Phase::Healthy { .. } | Phase::Unhealthy)
                && service.reload_digest.as_ref() != Some(&one.reload_digest)
            {
                service.reload_digest = Some(one.reload_digest.clone());
                actions.push(Action::Reload { run: Run { service: one.name.clone(), number: service.run } });
            }
        }
    }
}

impl Service {
    fn is_due(&self, moment: Moment) -> bool {
        match self.phase {
            Phase::Due => true,
            Phase::Waiting { until } => moment.at >= until,
            _ => false,
        }
    }

    fn start(&mut self, wanted: &Wanted, run: u64) {
        self.restarts += u32::from(matches!(self.phase, Phase::Waiting { .. }));
        self.phase = Phase::Preparing;
        self.run = run;
        self.unwell = 0;
        self.digest = Some(wanted.digest.clone());
        self.reload_digest = Some(wanted.reload_digest.clone());
    }

    fn stop(&mut self, name: &str, actions: &mut Vec<Action>) {
        if self.phase.is_live() && self.phase != Phase::Stopping {
            self.phase = Phase::Stopping;
            self.why = None;
            actions.push(Action::Stop { run: Run { service: name.to_owned(), number: self.run } });
        }
    }

    fn is_well(&mut self, moment: Moment) {
        self.unwell = 0;
        match self.phase {
            Phase::Healthy { since } => self.backoff.is_well_since(since, moment.at),
            Phase::Starting | Phase::Unhealthy => {
                self.phase = Phase::Healthy { since: moment.at };
                self.why = None;
            }
            _ => {}
        }
    }

    fn is_unwell(&mut self, why: String) {
        self.unwell += 1;
        match self.phase {
            Phase::Starting | Phase::Unhealthy => self.why = Some(why),
            Phase::Healthy { .. } if self.unwell >= UNHEALTHY_AFTER => {
                self.phase = Phase::Unhealthy;
                self.why = Some(why);
            }
            _ => {}
        }
    }

    fn end(&mut self, moment: Moment, ending: Ending, why: String, policy: Option<Restart>) {
        let is_asked = self.phase == Phase::Stopping;
        if let Phase::Healthy { since } = self.phase {
            self.backoff.is_well_since(since, moment.at);
        }
        self.phase = match (policy, ending) {
            (None, _) => Phase::Over(ending),
            _ if is_asked => Phase::Due,
            (Some(Restart::Never), Ending::Clean | Ending::Failed)
            | (Some(Restart::OnFailure), Ending::Clean) => Phase::Over(ending),
            _ => Phase::Waiting { until: moment.at + self.backoff.next(moment.chance) },
        };
        self.why = (!is_asked && self.phase != Phase::Over(Ending::Clean)).then_some(why);
    }
}

#[cfg(test)]
mod tests;

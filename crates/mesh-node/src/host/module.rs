//! The task of one module: hands what happens to the machine, and does what it says.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};

use super::{
    DesiredModule, States,
    machine::{Action, Ending, Event, Machine, Moment, Run, Wanted},
    service::{self, Control, Job, World},
};

/// Each module's wish, for its task to see.
pub(super) type Modules = Mutex<BTreeMap<String, watch::Sender<Option<Arc<DesiredModule>>>>>;

/// Everything that one module's task has.
pub(super) struct Driver {
    name: String,
    world: Arc<World>,
    modules: Arc<Modules>,
    states: watch::Sender<States>,
    machine: Machine,
    desired: Option<Arc<DesiredModule>>,
    runs: JoinSet<Run>,
    controls: BTreeMap<Run, mpsc::UnboundedSender<Control>>,
    begun: Instant,
}

impl Driver {
    pub(super) fn new(
        name: &str,
        world: Arc<World>,
        modules: Arc<Modules>,
        states: watch::Sender<States>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            world,
            modules,
            states,
            machine: Machine::default(),
            desired: None,
            runs: JoinSet::new(),
            controls: BTreeMap::new(),
            begun: Instant::now(),
        }
    }

    /// Until the module is not wanted and nothing of it is left.
    pub(super) async fn run(mut self, mut wish: watch::Receiver<Option<Arc<DesiredModule>>>) {
        let (events, mut heard) = mpsc::unbounded_channel();
        wish.mark_changed();
        loop {
            let wake = self.machine.wake().map(|at| tokio::time::Instant::from_std(self.begun + at));
            let event = tokio::select! {
                changed = wish.changed() => self.wished(changed.is_ok().then(|| wish.borrow_and_update().clone())),
                Some(event) = heard.recv() => event,
                Some(ended) = self.runs.join_next() => match self.joined(ended) {
                    Some(event) => event,
                    None => continue,
                },
                () = sleep_until(wake) => Event::Tick,
            };
            for action in self.machine.step(self.moment(), event) {
                self.act(action, &events);
            }
            self.tell();
            if self.machine.is_empty() && self.leave(&wish) {
                return;
            }
        }
    }

    fn moment(&self) -> Moment {
        Moment { at: self.begun.elapsed(), chance: self.world.chance() }
    }

    /// A host that is gone wants nothing.
    fn wished(&mut self, desired: Option<Option<Arc<DesiredModule>>>) -> Event {
        self.desired = desired.flatten();
        let services = self.desired.iter().flat_map(|desired| &desired.services);
        Event::Desired(
            services
                .map(|service| Wanted {
                    name: service.name.clone(),
                    digest: service.digest.clone(),
                    reload_digest: service.reload_digest.clone(),
                    restart: service.restart,
                })
                .collect(),
        )
    }

    /// A run says itself that it ended; only a fault of ours keeps it from that, and must not hang the module.
    fn joined(&mut self, ended: Result<Run, tokio::task::JoinError>) -> Option<Event> {
        match ended {
            Ok(run) => {
                self.controls.remove(&run);
                None
            }
            Err(error) => {
                tracing::error!(module = self.name, %error, "the task of a service broke");
                let run = self.controls.iter().find(|(_, control)| control.is_closed())?.0.clone();
                self.controls.remove(&run);
                Some(Event::Ended { run, ending: Ending::NotStarted, why: "its supervision broke".into() })
            }
        }
    }

    fn act(&mut self, action: Action, events: &mpsc::UnboundedSender<Event>) {
        match action {
            Action::Start { run, folders } => {
                let Some(desired) = self.desired.clone() else { return };
                let (control, controls) = mpsc::unbounded_channel();
                self.controls.insert(run.clone(), control);
                let job = Job {
                    world: Arc::clone(&self.world),
                    module: desired,
                    run,
                    folders,
                    events: events.clone(),
                };
                self.runs.spawn(service::run(job, controls));
            }
            Action::Stop { run } => self.control(&run, Control::Stop),
            Action::Reload { run } => self.control(&run, Control::Reload),
        }
    }

    fn control(&self, run: &Run, what: Control) {
        if let Some(control) = self.controls.get(run) {
            // One that has just ended is about to say so.
            let _ = control.send(what);
        }
    }

    fn tell(&self) {
        let state = self.machine.state();
        self.states.send_if_modified(|states| {
            if states.get(&self.name) == Some(&state) {
                return false;
            }
            states.insert(self.name.clone(), state);
            true
        });
    }

    /// Unless something has been wished for in this very moment.
    fn leave(&self, wish: &watch::Receiver<Option<Arc<DesiredModule>>>) -> bool {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if self.desired.is_some() || wish.has_changed().unwrap_or(false) {
            return false;
        }
        modules.remove(&self.name);
        self.states.send_modify(|states| {
            states.remove(&self.name);
        });
        true
    }
}

async fn sleep_until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

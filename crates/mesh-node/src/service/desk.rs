//! Everything that one node has at hand, and the few things that it does with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_bus::Bucket;
use mesh_model::key::ModuleKey;
use mesh_model::name::{ModuleName, ProvisionName};
use mesh_model::wire::{Applied, Assignment, PinAnswer, PinAsk, Registration};
use mesh_seal::{Recipient, VerifyingKey};
use serde_json::json;

use super::kept::{Kept, Shelf};
use super::{Error, facts};
use crate::answers::{AnswersFiles, Due};
use crate::bus::NodeBus;
use crate::client::inputs::{Inputs, Registry};
use crate::client::lookup::Keys;
use crate::client::opener::Opener;
use crate::client::pass::{APPLIED, Contents, Done, Pass};
use crate::client::report::{self, Progress};
use crate::client::resolve::said;
use crate::client::world::World;
use crate::config::Config;
use crate::host::{Host, HostConfig, Layout, ModuleState, States};

/// How long what is newly followed may take to be read, before it is looked at all the same.
const READ_WITHIN: Duration = Duration::from_millis(500);

/// One node at work.
pub(super) struct Desk {
    pub(super) config: Config,
    pub(super) bus: Arc<NodeBus>,
    pub(super) host: Host,
    states: tokio::sync::watch::Receiver<States>,
    layout: Layout,
    opener: Opener,
    contents: Contents,
    pub(super) shelf: Shelf,
    /// What an earlier run has kept, until it is run without the bus or there is one.
    kept: BTreeMap<ModuleName, Kept>,
    pub(super) modules: BTreeMap<ModuleName, Module>,
    /// Modules whose assignment cannot be read, and why: they are not assigned, and not taken back either.
    pub(super) unread: BTreeMap<ModuleName, String>,
}

/// One module that is assigned to the node.
pub(super) struct Module {
    pub(super) assignment: Assignment,
    progress: Progress,
    again: bool,
    answers: AnswersFiles,
    faults: Vec<String>,
    /// Whom its provisioner has not taken back yet.
    left: BTreeMap<ProvisionName, BTreeSet<ModuleKey>>,
    /// Since when half of a change is waited for.
    between: Option<Instant>,
}

/// How long a module that runs is left alone while only half of a change is there. After that it is told as waiting.
const MOMENT: Duration = Duration::from_secs(2);

impl Module {
    /// A module of which nothing has been rendered yet.
    fn new(assignment: Assignment) -> Self {
        Self {
            assignment,
            progress: Progress::Waiting(Vec::new()),
            again: false,
            answers: AnswersFiles::default(),
            faults: Vec::new(),
            left: BTreeMap::new(),
            between: None,
        }
    }

    fn runs(&self) -> bool {
        matches!(self.progress, Progress::Written { .. })
            && self.between.is_none_or(|since| since.elapsed() < MOMENT)
    }
}

impl Desk {
    pub(super) async fn open(config: Config) -> Result<Self, Error> {
        let bus = Arc::new(NodeBus::open(config.bus.clone(), config.node.clone()));
        let host = Host::start(HostConfig {
            state: config.state.clone(),
            node: config.node.to_string(),
            program: config.program.clone(),
            timezone: config.time_zone.clone(),
        })
        .await
        .map_err(Error::Host)?;
        let layout = Layout::new(&config.state);
        let (shelf, kept, contents) = Shelf::open(layout.clone())?;
        let opener = Opener {
            mesh: config.mesh.clone(),
            node: config.node.clone(),
            identity: config.sealing.clone(),
            signer: config.signer.clone(),
            seen: shelf.seen().clone(),
        };
        let states = host.states();
        Ok(Self {
            config,
            bus,
            host,
            states,
            layout,
            opener,
            contents,
            shelf,
            kept,
            modules: BTreeMap::new(),
            unread: BTreeMap::new(),
        })
    }

    /// Waits for the bus, shows it the sealing key, and tells the controller of the machine.
    pub(super) async fn settle_in(&mut self) -> Result<(), Error> {
        self.bus.ready().await;
        self.pin().await?;
        self.tell_facts().await;
        Ok(())
    }

    /// Runs what an earlier run has kept: the bus is not there.
    pub(super) async fn boot(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        if !kept.is_empty() {
            tracing::warn!("the bus or the vault is not there: what was kept is run until it is");
        }
        for (name, Kept { assignment, inputs, .. }) in kept {
            let done = self.make(&Registry::new(), &assignment, Some(inputs)).await;
            if done.module.is_none() {
                tracing::warn!(module = %name, progress = ?done.progress, "it cannot be run from what was kept");
            }
            self.take(name, assignment, done);
        }
    }

    async fn pin(&self) -> Result<(), Error> {
        let ask = PinAsk { recipient: self.config.sealing.public() };
        let mut pause = Duration::from_millis(20);
        loop {
            match self.bus.ask::<PinAnswer<Recipient, VerifyingKey>>("mesh-vault.pin", &ask).await {
                Ok(_) => return Ok(()),
                Err(source @ mesh_bus::verb::AskError::Refused { .. }) => {
                    return Err(Error::Pin { node: self.config.node.to_string(), source });
                }
                Err(error) => {
                    tracing::debug!(why = said(&error), "the vault is not there yet");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(5));
                }
            }
        }
    }

    pub(super) async fn tell_facts(&self) {
        let ports = self.modules.values().flat_map(|module| module.assignment.ports.values().copied());
        let facts = facts::gather(&self.config.state, &ports.collect());
        let told: Result<serde_json::Value, _> = self.bus.ask("mesh-controller.facts", &facts).await;
        if let Err(error) = told {
            tracing::debug!(why = said(&error), "the controller could not be told of this machine");
        }
    }

    pub(super) async fn woken(&self) {
        self.bus.woken().await;
    }

    pub(super) fn look_again(&self) {
        self.bus.look_again();
    }

    /// What the services are doing, and each change of it.
    pub(super) fn states(&self) -> tokio::sync::watch::Receiver<States> {
        self.states.clone()
    }

    /// Whether anything here provides: only then are there answers files to look at.
    pub(super) fn provides(&self) -> bool {
        self.modules.values().any(|module| !module.assignment.provides.is_empty())
    }

    pub(super) fn wants_again(&self) -> bool {
        self.modules.values().any(|module| module.again)
    }

    /// Looks at everything, and does what is missing.
    pub(super) async fn look(&mut self) {
        let assigned = self.assigned();
        if self.follow(&assigned) {
            // As a rule it takes a moment; what takes longer wakes us when it is there, and is waited for until then.
            let _ = tokio::time::timeout(READ_WITHIN, self.bus.ready()).await;
        }
        self.withdraw(&assigned).await;
        self.shelf.prune(assigned.values(), &mut self.contents);
        let mut kept = std::mem::take(&mut self.kept);
        let registry = self.registry();
        for (name, assignment) in assigned {
            match self.unread.contains_key(&name) {
                false => self.pass(&registry, name, assignment).await,
                true => self.stay(&name, kept.remove(&name)).await,
            }
        }
        for name in self.unread.keys().filter(|name| !self.modules.contains_key(*name)) {
            self.tell_unread(name).await;
        }
    }

    /// What is assigned to this node. A value that cannot be read leaves the last good one in place, that of an earlier
    /// run where this one has had none yet, and is told.
    fn assigned(&mut self) -> BTreeMap<ModuleName, Assignment> {
        let mut assigned = BTreeMap::new();
        self.unread.clear();
        for (key, entry) in self.bus.of_node(&Bucket::assignments()).iter() {
            let Ok(ModuleKey { module, .. }) = key.parse() else {
                tracing::warn!(key, "a key of the assignments is out of shape, and is passed over");
                continue;
            };
            match self.read(&module, &entry.value) {
                Ok(assignment) => drop(assigned.insert(module, assignment)),
                Err(why) => {
                    tracing::warn!(key, why, "the last good assignment stays");
                    let last = self.modules.get(&module).map(|last| &last.assignment);
                    let last = last.or_else(|| self.kept.get(&module).map(|kept| &kept.assignment)).cloned();
                    assigned.extend(last.map(|last| (module.clone(), last)));
                    self.unread.insert(module, why);
                }
            }
        }
        assigned
    }

    fn read(&self, module: &ModuleName, value: &[u8]) -> Result<Assignment, String> {
        let assignment: Assignment = serde_json::from_slice(value).map_err(|error| {
            format!("its assignment cannot be read, and the one before it stays: {error}")
        })?;
        if assignment.module != *module || assignment.node != self.config.node {
            let Assignment { module, node, .. } = assignment;
            return Err(format!("its assignment is that of {module}@{node}, and the one before it stays"));
        }
        Ok(assignment)
    }

    /// Says whether anything new is followed.
    fn follow(&self, assigned: &BTreeMap<ModuleName, Assignment>) -> bool {
        let needs = assigned.values().flat_map(|assignment| &assignment.needs);
        let providers: BTreeSet<ModuleName> = needs.map(|need| need.from.module.clone()).collect();
        let provides = assigned.values().flat_map(|assignment| assignment.provides.keys().cloned()).collect();
        self.bus.follow(&providers, &provides)
    }

    fn registry(&self) -> Registry {
        let keys = Keys { bucket: Bucket::registry().name().to_owned(), filter: ">".to_owned() };
        let read = |(key, value): (String, serde_json::Value)| {
            let entry: Registration = serde_json::from_value(value).ok()?;
            (entry.kind.as_str() == key).then_some((entry.kind, entry))
        };
        self.bus.values(&keys).unwrap_or_default().into_iter().filter_map(read).collect()
    }

    async fn pass(&mut self, registry: &Registry, name: ModuleName, assignment: Assignment) {
        let done = self.make(registry, &assignment, None).await;
        self.take(name.clone(), assignment, done);
        self.carry(&name).await;
        self.tell(&name).await;
    }

    /// Leaves a module as it is, since what is assigned now cannot be read; of an earlier run, as that one kept it.
    async fn stay(&mut self, name: &ModuleName, kept: Option<Kept>) {
        if let Some(Kept { assignment, inputs, .. }) = kept.filter(|_| !self.modules.contains_key(name)) {
            let done = self.make(&Registry::new(), &assignment, Some(inputs)).await;
            self.take(name.clone(), assignment, done);
        }
        self.tell(name).await;
    }

    async fn make(&mut self, registry: &Registry, assignment: &Assignment, kept: Option<Inputs>) -> Done {
        let runs = self.modules.get(&assignment.module).is_some_and(Module::runs);
        let mut pass = Pass {
            world: &*self.bus,
            registry,
            layout: &self.layout,
            opener: &mut self.opener,
            digests: &self.config.digests,
            contents: &mut self.contents,
            now: (self.config.now)(),
            keep: &mut self.shelf,
            runs,
        };
        let done = pass.make(assignment, kept).await;
        self.shelf.keep_seen(&self.opener.seen);
        done
    }

    /// Hands a module to the host, and remembers how far it is.
    fn take(&mut self, name: ModuleName, assignment: Assignment, done: Done) {
        if let Some(module) = done.module {
            self.host.set(name.as_str(), Some(module));
        }
        let module = self.modules.entry(name).or_insert_with(|| Module::new(assignment.clone()));
        module.again = done.again;
        match done.progress {
            Some(progress) => {
                (module.assignment, module.progress, module.between) = (assignment, progress, None);
            }
            None => drop(module.between.get_or_insert_with(Instant::now)),
        }
    }

    /// Looks at the answers files, and carries what is new.
    pub(super) async fn glance(&mut self) {
        let changed = |(name, module): (&ModuleName, &Module)| {
            module.answers.have_changed(&module.assignment).then(|| name.clone())
        };
        let names: Vec<ModuleName> = self.modules.iter().filter_map(changed).collect();
        for name in names {
            self.carry(&name).await;
            self.tell(&name).await;
        }
    }

    async fn carry(&mut self, name: &ModuleName) {
        let now = (self.config.now)();
        let Some(module) = self.modules.get_mut(name) else { return };
        let Due { put, delete, faults, left } = module.answers.read(&module.assignment, now);
        if faults != module.faults {
            faults
                .iter()
                .for_each(|fault| tracing::warn!(module = %name, fault, "its provisioner is at fault"));
        }
        (module.faults, module.left) = (faults, left);
        let bucket = Bucket::bound(name);
        let mut untold = Vec::new();
        for (key, bound) in put {
            if let Err(why) = self.bus.put(bucket.name(), &key.to_string(), json!(bound)).await {
                tracing::warn!(%key, why, "an answer could not be carried");
                untold.push(key);
            }
        }
        module.answers.untold(&untold);
        for key in delete {
            if let Err(why) = self.bus.delete(bucket.name(), &key.to_string()).await {
                tracing::warn!(%key, why, "an answer could not be taken back");
            }
        }
    }

    /// Tells of every module what came of it.
    pub(super) async fn tell_all(&mut self) {
        let names: Vec<ModuleName> = self.modules.keys().cloned().collect();
        for name in names {
            self.tell(&name).await;
        }
    }

    async fn tell(&mut self, name: &ModuleName) {
        let Some(module) = self.modules.get(name) else { return };
        let key = ModuleKey { node: self.config.node.clone(), module: name.clone() };
        let before = self.told(&key);
        let mut progress = module.progress.clone();
        if let Progress::Written { faults, left, .. } = &mut progress {
            faults.clone_from(&module.faults);
            left.clone_from(&module.left);
        }
        let host = self.states.borrow().get(name.as_str()).cloned();
        let now = (self.config.now)();
        let mut record = report::applied(&module.assignment, &progress, host.as_ref(), before.as_ref(), now);
        if let Some(why) = self.unread.get(name) {
            record = report::unread(record, why, before.as_ref());
        }
        if let Err(why) = self.bus.put(APPLIED, &key.to_string(), json!(record)).await {
            tracing::warn!(module = %name, why, "what came of it could not be told");
        }
    }

    /// Tells of a module that has never had an assignment which could be read.
    async fn tell_unread(&self, name: &ModuleName) {
        let key = ModuleKey { node: self.config.node.clone(), module: name.clone() };
        let (before, now) = (self.told(&key), (self.config.now)());
        let Some(why) = self.unread.get(name) else { return };
        let record = report::unread(report::nothing(&key, before.as_ref(), now), why, before.as_ref());
        if let Err(why) = self.bus.put(APPLIED, &key.to_string(), json!(record)).await {
            tracing::warn!(module = %name, why, "what came of it could not be told");
        }
    }

    /// What was last told of a module.
    pub(super) fn told(&self, key: &ModuleKey) -> Option<Applied> {
        serde_json::from_slice(&self.bus.own(&Bucket::applied(), &key.to_string())?).ok()
    }

    /// What the host says of a module; none once nothing of it is left.
    pub(super) fn state(&self, name: &ModuleName) -> Option<ModuleState> {
        self.states.borrow().get(name.as_str()).cloned()
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Stops all services.
    pub(super) async fn close(self, deadline: Duration) {
        self.host.shutdown(deadline).await;
    }
}

//! What a plan would change: for each module on a node, what and why, which services it touches, which credentials come
//! and go, and what stays behind.
//!
//! It compares what is applied with what is planned and knows nothing else; what a node finds on its disk is the node's.

mod references;

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::key::ModuleKey;
use mesh_model::name::{ModuleName, NodeName, ServiceName};
use mesh_model::wire::{Assignment, Config, Give, Need, OnChange};
use serde::Serialize;

use crate::plan::Plan;
use references::Changed;

/// What would change for one module on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The node.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
    /// What happens to it.
    pub change: Kind,
    /// Why, a reason each.
    pub why: Vec<String>,
    /// What happens to each of its services that something happens to.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<ServiceName, Effect>,
    /// What happens to its secrets and credentials, by `secret.<name>` and the name of the need.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub credentials: BTreeMap<String, Fate>,
    /// What stays behind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stays: Vec<String>,
}

/// What happens to a module on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It was not there.
    Add,
    /// It is to do something else.
    Change,
    /// It is to be there no longer.
    Remove,
    /// Nothing.
    None,
}

/// What happens to a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It is told to read its files again.
    Reload,
    /// It is stopped and started.
    Restart,
    /// It is started for the first time.
    Start,
    /// It is stopped.
    Stop,
}

/// What happens to a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// It is made.
    Made,
    /// It stays what it is.
    Kept,
    /// It is made anew: what it was made for has changed.
    Remade,
    /// It is no longer accepted.
    Withdrawn,
    /// Somebody has to set it: `mesh secret set`.
    Supplied,
}

/// Compares what is applied with a plan: first who is to go, each before those who provided to it; then the others, in
/// the order of nodes and modules.
#[must_use]
pub fn diff(
    assignments: &BTreeMap<ModuleKey, Assignment>,
    settings: &BTreeMap<ModuleKey, Config>,
    plan: &Plan,
) -> Vec<Change> {
    let collections = references::collections(assignments, plan);
    let one = |key: &ModuleKey| match (assignments.get(key), plan.assignments.get(key)) {
        (None, Some(new)) => added(new),
        (Some(old), None) => removed(old),
        (Some(old), Some(new)) => {
            let settings = (settings.get(key), plan.settings.get(key));
            changed(&Changed::of(old, new, settings, &collections), plan)
        }
        (None, None) => Change::empty(key.node.clone(), key.module.clone(), Kind::None),
    };
    let leaving = leaving(assignments, plan);
    let staying = plan.assignments.keys();
    leaving.into_iter().chain(staying).map(one).collect()
}

/// Who is to go, consumers before those who provided to them: these have nobody left to serve then.
fn leaving<'a>(before: &'a BTreeMap<ModuleKey, Assignment>, plan: &Plan) -> Vec<&'a ModuleKey> {
    let mut left: BTreeMap<&ModuleKey, BTreeSet<ModuleKey>> = BTreeMap::new();
    for (key, old) in before.iter().filter(|(key, _)| !plan.assignments.contains_key(*key)) {
        let consumers = old.consumers.iter();
        let consumers = consumers.map(|one| ModuleKey { node: one.node.clone(), module: one.module.clone() });
        left.insert(key, consumers.collect());
    }
    let mut out = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let served = |key: &ModuleKey| left[key].iter().any(|by| by != key && left.contains_key(by));
        let mut next: Vec<&ModuleKey> = left.keys().copied().filter(|key| !served(key)).collect();
        if next.is_empty() {
            // Those that are left consume from each other: any of them may be the first.
            next.extend(left.keys().next());
        }
        next.iter().for_each(|key| drop(left.remove(key)));
        out.extend(next);
    }
    out
}

impl Change {
    fn empty(node: NodeName, module: ModuleName, change: Kind) -> Self {
        let (why, services, credentials, stays) = Default::default();
        Self { node, module, change, why, services, credentials, stays }
    }

    fn of(assignment: &Assignment, change: Kind) -> Self {
        Self::empty(assignment.node.clone(), assignment.module.clone(), change)
    }
}

fn added(new: &Assignment) -> Change {
    let mut change = Change::of(new, Kind::Add);
    change.why.push(format!("`{}` is assigned to `{}`", new.module, new.node));
    change.services = new.run.keys().map(|name| (name.clone(), Effect::Start)).collect();
    for (name, secret) in &new.secrets {
        let fate = if secret.supplied { Fate::Supplied } else { Fate::Made };
        change.credentials.insert(format!("secret.{name}"), fate);
    }
    for need in new.needs.iter().filter(|need| need.has_credential()) {
        change.credentials.insert(need.local.to_string(), Fate::Made);
    }
    change
}

fn removed(old: &Assignment) -> Change {
    let mut change = Change::of(old, Kind::Remove);
    change.why.push(format!("`{}` is no longer assigned to `{}`", old.module, old.node));
    change.services = old.run.keys().map(|name| (name.clone(), Effect::Stop)).collect();
    let secrets = old.secrets.keys().map(|name| format!("secret.{name}"));
    let needs = old.needs.iter().filter(|need| need.has_credential()).map(|need| need.local.to_string());
    change.credentials = secrets.chain(needs).map(|name| (name, Fate::Withdrawn)).collect();
    let lasting = old.dirs.iter().filter(|(_, dir)| !dir.temporary);
    change.stays.extend(lasting.map(|(_, dir)| format!("the folder {} on `{}`", dir.path, old.node)));
    change.stays.extend(old.needs.iter().map(stays));
    change
}

/// A provider keeps the data of who is gone.
fn stays(need: &Need) -> String {
    format!("the {} of `{}` at {}@{}", need.provision, need.local, need.from.module, need.from.node)
}

fn changed(of: &Changed<'_>, plan: &Plan) -> Change {
    let mut change = Change::of(of.new, Kind::None);
    if of.old.digest == of.new.digest {
        return change;
    }
    change.why = of.why();
    change.change = Kind::Change;
    if change.why.is_empty() {
        change.why.push("its manifest says something else".to_owned());
    }
    change.services = services(of, plan);
    change.credentials = credentials(of.old, of.new);
    let gone = of.old.needs.iter().filter(|need| !of.new.needs.iter().any(|other| other.local == need.local));
    change.stays = gone.map(stays).collect();
    change
}

/// What happens to each service: what it is started with, or a file that it reads, changes.
fn services(of: &Changed<'_>, plan: &Plan) -> BTreeMap<ServiceName, Effect> {
    let mut effects: BTreeMap<ServiceName, Effect> = BTreeMap::new();
    for name in of.old.run.keys().filter(|name| !of.new.run.contains_key(*name)) {
        effects.insert(name.clone(), Effect::Stop);
    }
    for (name, run) in of.new.run.iter() {
        let effect = match of.old.run.get(name) {
            None => Effect::Start,
            Some(before) if before != run || of.run(run) => Effect::Restart,
            Some(_) => continue,
        };
        effects.insert(name.clone(), effect);
    }
    for (path, file) in of.new.files.iter().filter(|(path, file)| of.file(path, file, plan)) {
        let effect = match file.on_change {
            OnChange::Restart => Effect::Restart,
            OnChange::Reload => Effect::Reload,
            OnChange::Nothing => continue,
        };
        for name in references::readers(of.new, path) {
            let known = effects.entry(name.clone()).or_insert(effect);
            *known = (*known).max(effect);
        }
    }
    effects
}

fn credentials(old: &Assignment, new: &Assignment) -> BTreeMap<String, Fate> {
    let mut out = BTreeMap::new();
    for (name, secret) in &new.secrets {
        let fate = match old.secrets.get(name) {
            Some(before) if before == secret => Fate::Kept,
            _ if secret.supplied => Fate::Supplied,
            Some(_) => Fate::Remade,
            None => Fate::Made,
        };
        out.insert(format!("secret.{name}"), fate);
    }
    for name in old.secrets.keys().filter(|name| !new.secrets.contains_key(*name)) {
        out.insert(format!("secret.{name}"), Fate::Withdrawn);
    }
    let with =
        |needs: &[Need]| -> Vec<Need> { needs.iter().filter(|n| n.has_credential()).cloned().collect() };
    let (before, after) = (with(&old.needs), with(&new.needs));
    for need in &after {
        let fate = match before.iter().find(|other| other.local == need.local) {
            None => Fate::Made,
            Some(other) if same_credential(other, need) => Fate::Kept,
            Some(_) => Fate::Remade,
        };
        out.insert(need.local.to_string(), fate);
    }
    for need in before.iter().filter(|need| !after.iter().any(|other| other.local == need.local)) {
        out.insert(need.local.to_string(), Fate::Withdrawn);
    }
    out
}

/// Whether a credential that was made for one need does for another.
fn same_credential(one: &Need, other: &Need) -> bool {
    let secrets = |need: &Need| -> Vec<(String, Give)> {
        let secret = need.gives.iter().filter(|(_, give)| matches!(give, Give::Secret { .. }));
        secret.map(|(name, give)| (name.to_string(), give.clone())).collect()
    };
    one.from == other.from && one.provision == other.provision && secrets(one) == secrets(other)
}

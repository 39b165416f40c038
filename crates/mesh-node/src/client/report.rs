//! What a node tells of a module: `needs`, `collect` and `applied`, as they should be in the buckets.
//!
//! A record keeps its moment while it says the same, so that what has not changed is not written again.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::key::{CollectKey, ModuleKey, NeedKey};
use mesh_model::kind::Kind;
use mesh_model::name::{ProvisionName, ServiceName};
use mesh_model::wire::{
    Applied, AppliedState, Assignment, Collect, Contribution, NeedRecord, NeedState, Provider, Service,
    ServiceState, Timestamp, V1, WaitingFor,
};
use serde_json::Value;

use super::lookup::contribution;
use super::resolve::{NeedStatus, Used};
use crate::host::{ModuleState, RunState};

/// So many who have left are told by name.
const TOLD: usize = 5;

/// The needs of a module, by key.
#[must_use]
pub fn needs(
    assignment: &Assignment,
    statuses: &[NeedStatus],
    before: &BTreeMap<String, NeedRecord>,
    now: Timestamp,
) -> BTreeMap<NeedKey, NeedRecord> {
    statuses
        .iter()
        .map(|status| {
            let key = NeedKey {
                node: assignment.node.clone(),
                module: assignment.module.clone(),
                kind: status.kind,
                name: status.name.clone(),
            };
            let since = before
                .get(&key.to_string())
                .filter(|record| record.state == status.state)
                .map_or(now, |record| record.since);
            let record = NeedRecord {
                v: V1,
                node: assignment.node.clone(),
                module: assignment.module.clone(),
                kind: status.kind,
                name: status.name.clone(),
                state: status.state,
                why: status.why.clone(),
                owner: status.owner.clone(),
                from: status.from.clone(),
                since,
            };
            (key, record)
        })
        .collect()
}

/// What a module adds to collections on its node, and what it hands to its providers.
#[must_use]
pub fn collect(assignment: &Assignment) -> BTreeMap<CollectKey, Collect> {
    let mut items: BTreeMap<_, Vec<Value>> = assignment
        .contributes
        .iter()
        .map(|(collection, items)| (collection.clone(), items.iter().cloned().map(Value::String).collect()))
        .collect();
    for need in &assignment.needs {
        let Some(collection) = contribution(&need.provision) else { continue };
        let item = Contribution {
            local: need.local.clone(),
            provider: Provider { module: need.from.module.clone(), node: need.from.node.clone() },
            machine: assignment.machine.clone(),
            contribution: need.contribution.clone(),
            revision: need.revision.clone(),
        };
        items.entry(collection).or_default().push(serde_json::json!(item));
    }
    items
        .into_iter()
        .map(|(collection, items)| {
            let key = CollectKey {
                node: assignment.node.clone(),
                collection: collection.clone(),
                contributor: assignment.module.clone(),
            };
            let contributor = assignment.module.clone();
            (key, Collect { v: V1, node: assignment.node.clone(), collection, contributor, items })
        })
        .collect()
}

/// How far a module has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Some needs that it uses are not met.
    Waiting(Vec<WaitingFor>),
    /// It could not be rendered or written.
    Failed(String),
    /// It is written, with this keyed digest; its services are on their way to it.
    Written {
        /// The keyed digest of what was rendered.
        rendered: String,
        /// The credentials that it was rendered with.
        used: Used,
        /// What each service was rendered to, as the host tells it back.
        services: BTreeMap<String, (String, String)>,
        /// What is wrong with what its provisioner answers.
        faults: Vec<String>,
        /// Whom its provisioner has not taken back yet.
        left: BTreeMap<ProvisionName, BTreeSet<ModuleKey>>,
    },
}

/// The needs that hold a module up.
#[must_use]
pub fn waiting(statuses: &[NeedStatus]) -> Vec<WaitingFor> {
    let holding = statuses.iter().filter(|status| status.holds_up && status.state == NeedState::Waiting);
    holding
        .map(|status| WaitingFor {
            kind: status.kind,
            name: status.name.clone(),
            why: status.why.clone().unwrap_or_default(),
        })
        .collect()
}

/// What came of an assignment.
#[must_use]
pub fn applied(
    assignment: &Assignment,
    progress: &Progress,
    host: Option<&ModuleState>,
    before: Option<&Applied>,
    now: Timestamp,
) -> Applied {
    let mut record = Applied {
        v: V1,
        node: assignment.node.clone(),
        module: assignment.module.clone(),
        state: AppliedState::Waiting,
        waiting_for: Vec::new(),
        why: None,
        plan: assignment.digest.clone(),
        rendered: None,
        services: services(host),
        // Services that run go on with what they were started with, until those that follow are well.
        credentials: before.map(|before| before.credentials.clone()).unwrap_or_default(),
        turns: BTreeMap::new(),
        refused: BTreeMap::new(),
        at: now,
    };
    match progress {
        Progress::Waiting(needs) => record.waiting_for.clone_from(needs),
        Progress::Failed(why) => (record.state, record.why) = (AppliedState::Failed, Some(why.clone())),
        Progress::Written { rendered, used, services, faults, left } => {
            record.rendered = Some(rendered.clone());
            (record.state, record.why) = outcome(host, services, faults);
            record.turns.clone_from(&used.turns);
            record.refused.clone_from(&used.refused);
            if record.state == AppliedState::Applied && !left.is_empty() {
                // What a consumer was let in with is good until then.
                record.state = AppliedState::Waiting;
                record.waiting_for =
                    left.iter().map(|(provision, left)| taken_back(provision, left)).collect();
            }
            if record.state == AppliedState::Applied {
                record.credentials.clone_from(&used.credentials);
            }
        }
    }
    since(record, before)
}

/// Its provisioner answers somebody still who is no consumer any more.
fn taken_back(provision: &ProvisionName, left: &BTreeSet<ModuleKey>) -> WaitingFor {
    let left: Vec<String> = left.iter().take(TOLD).map(ModuleKey::at).collect();
    let why = format!("the provisioner has not taken back {} yet", left.join(", "));
    WaitingFor { kind: Kind::Consumers, name: provision.to_string(), why }
}

/// Of a record that says the same as the one before, it is told since when.
fn since(record: Applied, before: Option<&Applied>) -> Applied {
    match before {
        Some(before) if (Applied { at: before.at, ..record.clone() }) == *before => before.clone(),
        _ => record,
    }
}

/// What is told of a module whose newest assignment cannot be read: how it stands by the last good one, and why it does.
#[must_use]
pub fn unread(mut record: Applied, why: &str, before: Option<&Applied>) -> Applied {
    record.why = Some(match record.why {
        Some(said) => format!("{why}; {said}"),
        None => why.to_owned(),
    });
    since(record, before)
}

/// A module of which this node has nothing, though something is assigned.
#[must_use]
pub fn nothing(key: &ModuleKey, before: Option<&Applied>, now: Timestamp) -> Applied {
    Applied { state: AppliedState::Failed, why: None, ..withdrawn(key, before, now) }
}

fn services(host: Option<&ModuleState>) -> BTreeMap<ServiceName, Service> {
    let states = host.iter().flat_map(|host| &host.services);
    let told = states.filter_map(|(name, service)| {
        let state = match service.state {
            RunState::Running => ServiceState::Running,
            RunState::Starting => ServiceState::Starting,
            RunState::Unhealthy => ServiceState::Unhealthy,
            RunState::Stopped => ServiceState::Stopped,
            RunState::Failed => ServiceState::Failed,
        };
        let told = Service { state, restarts: service.restarts, why: service.why.clone() };
        Some((name.parse().ok()?, told))
    });
    told.collect()
}

/// Applied means: each service runs what was rendered, and is healthy or has ended as it may.
fn outcome(
    host: Option<&ModuleState>,
    wanted: &BTreeMap<String, (String, String)>,
    faults: &[String],
) -> (AppliedState, Option<String>) {
    if let Some(fault) = faults.first() {
        return (AppliedState::Failed, Some(fault.clone()));
    }
    let mut waiting = None;
    for (name, (digest, reload)) in wanted {
        let Some(service) = host.and_then(|host| host.services.get(name)) else {
            waiting.get_or_insert_with(|| format!("the service `{name}` is not started yet"));
            continue;
        };
        let why =
            || format!("the service `{name}` is {}{}", service.state.word(), because(service.why.as_deref()));
        match service.state {
            RunState::Failed | RunState::Unhealthy => return (AppliedState::Failed, Some(why())),
            RunState::Running | RunState::Stopped if service.is_settled(digest, reload) => {}
            _ => {
                waiting.get_or_insert_with(why);
            }
        }
    }
    match waiting {
        Some(why) => (AppliedState::Waiting, Some(why)),
        None => (AppliedState::Applied, None),
    }
}

fn because(why: Option<&str>) -> String {
    why.map(|why| format!(": {why}")).unwrap_or_default()
}

/// An assignment that is being taken back.
#[must_use]
pub fn withdrawn(key: &ModuleKey, before: Option<&Applied>, now: Timestamp) -> Applied {
    let nothing = mesh_model::digest::Digest::of(b"");
    Applied {
        v: V1,
        node: key.node.clone(),
        module: key.module.clone(),
        state: AppliedState::Withdrawn,
        waiting_for: Vec::new(),
        why: Some("it is no longer assigned: its services are being stopped".to_owned()),
        plan: before.map_or(nothing, |before| before.plan.clone()),
        rendered: None,
        services: BTreeMap::new(),
        credentials: BTreeMap::new(),
        turns: BTreeMap::new(),
        refused: BTreeMap::new(),
        at: now,
    }
}

#[cfg(test)]
mod tests;

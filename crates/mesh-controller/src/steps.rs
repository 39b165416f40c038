//! The steps from what the bus says to what it is to say. Pure; taken in this order, so that a step never needs a later one.
//!
//! Contents and buckets are there before what names them. Rights are widened before an assignment needs them, and narrowed
//! when nothing does any more. Settings come before the assignment that names their digest. What goes, goes in the order
//! of [`crate::departures`], and not all of it at once. A crash between any two leaves a state from which the rest of the
//! steps follow again.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use mesh_bus::grants::{Grants, Right};
use mesh_bus::{Account, Bucket};
use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::ModuleName;

use crate::departures::{Departure, departures};
use crate::desired::{Desired, Said};
use crate::observed::Observed;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Keep a content that stands in a manifest.
    Keep {
        /// Its digest.
        digest: Digest,
        /// What it says.
        bytes: Bytes,
    },
    /// Make a provider's bucket.
    Make(ModuleName),
    /// Give an account these grants, with those that it has.
    Widen(Grants),
    /// Write the settings of a module on a node.
    Set {
        /// Where.
        key: ModuleKey,
        /// The digest of what is written.
        digest: Digest,
        /// What is written.
        bytes: Bytes,
    },
    /// Write what a module on a node is to do.
    Assign {
        /// Where.
        key: ModuleKey,
        /// The digest that it names.
        digest: Digest,
        /// The plan that it names.
        plan: Digest,
        /// The modules that consume from it.
        consumers: BTreeSet<ModuleKey>,
        /// What is written.
        bytes: Bytes,
    },
    /// Have a provider that goes say that it has no consumers any more.
    Release {
        /// Where.
        key: String,
        /// The plan under which it goes.
        plan: Digest,
    },
    /// Delete an assignment.
    Unassign(String),
    /// Delete settings.
    Unset(String),
    /// Delete what somebody told that no plan knows.
    Prune(Bucket, String),
    /// Give an account these grants alone.
    Narrow(Grants),
}

impl Step {
    /// Steps of one phase may be taken at the same time.
    #[must_use]
    pub fn phase(&self) -> std::mem::Discriminant<Self> {
        std::mem::discriminant(self)
    }
}

/// What is to be done, in order; nothing where the bus says what it is to say.
#[must_use]
pub fn steps(desired: &Desired, observed: &Observed) -> Vec<Step> {
    let mut steps = Vec::new();
    if let Some(said) = &desired.said {
        steps.extend(keep(said, observed));
        steps.extend(make(said, observed));
    }
    steps.extend(widen(desired, observed));
    let going = desired.said.as_ref().map(|said| departures(said, observed)).unwrap_or_default();
    if let Some(said) = &desired.said {
        steps.extend(set(said, observed));
        steps.extend(assign(said, observed));
        steps.extend(release(said, &going));
        steps.extend(unassign(&going));
        steps.extend(unset(said, observed, &going));
        steps.extend(prune(said, observed, &going));
    }
    steps.extend(narrow(desired, observed, &going));
    steps
}

fn keep(said: &Said, observed: &Observed) -> impl Iterator<Item = Step> {
    let missing = said.contents.iter().filter(|(digest, _)| !observed.contents.contains(digest));
    missing.map(|(digest, bytes)| Step::Keep { digest: digest.clone(), bytes: bytes.clone() })
}

fn make(said: &Said, observed: &Observed) -> impl Iterator<Item = Step> {
    said.providers.keys().filter(|provider| !observed.buckets.contains(*provider)).cloned().map(Step::Make)
}

/// What an account has and is to have, both; where nothing was granted since the start, what it is to have.
fn widen(desired: &Desired, observed: &Observed) -> impl Iterator<Item = Step> {
    desired.grants.iter().filter_map(|(account, wanted)| {
        let has = observed.granted.get(account);
        let both = has.map_or_else(|| wanted.clone(), |has| union(has, wanted));
        (has != Some(&both)).then(|| Step::Widen(grants(account, both)))
    })
}

/// A node keeps its rights for as long as anything of it has yet to go.
fn narrow(desired: &Desired, observed: &Observed, going: &Going) -> impl Iterator<Item = Step> {
    let staying = staying(going).filter_map(|key| key.parse::<ModuleKey>().ok());
    let busy: BTreeSet<Account> = staying.map(|key| Account::Node(key.node)).collect();
    desired.grants.iter().filter(move |(account, _)| !busy.contains(*account)).filter_map(
        |(account, wanted)| {
            let wider = observed.granted.get(account).is_some_and(|has| union(has, wanted) != *wanted);
            wider.then(|| Step::Narrow(grants(account, wanted.clone())))
        },
    )
}

fn grants(account: &Account, rights: Vec<Right>) -> Grants {
    Grants { account: account.clone(), rights }
}

/// Sorted, each once: as the grants themselves are, so that equal rights are equal lists.
fn union(one: &[Right], other: &[Right]) -> Vec<Right> {
    let both: BTreeSet<&Right> = one.iter().chain(other).collect();
    if both.len() == other.len() {
        other.to_vec()
    } else if both.len() == one.len() {
        one.to_vec()
    } else {
        both.into_iter().cloned().collect()
    }
}

fn set(said: &Said, observed: &Observed) -> impl Iterator<Item = Step> {
    said.settings.iter().filter_map(|(key, value)| {
        let same = observed.settings.get(&key.to_string()) == Some(&value.digest);
        let (digest, bytes) = (value.digest.clone(), value.bytes.clone());
        (!same).then(|| Step::Set { key: key.clone(), digest, bytes })
    })
}

fn assign(said: &Said, observed: &Observed) -> impl Iterator<Item = Step> {
    said.assignments.iter().filter_map(|(key, value)| {
        let has = observed.assignments.get(&key.to_string()).and_then(|assigned| assigned.digest.as_ref());
        (has != Some(&value.digest)).then(|| Step::Assign {
            key: key.clone(),
            digest: value.digest.clone(),
            plan: said.plan.clone(),
            consumers: said.consumers.get(key).cloned().unwrap_or_default(),
            bytes: value.bytes.clone(),
        })
    })
}

/// What is to be done about what the plan does not have.
type Going = BTreeMap<String, Departure>;

/// Those that have yet to go.
fn staying(going: &Going) -> impl Iterator<Item = &String> {
    going.iter().filter(|(_, departure)| **departure != Departure::Go).map(|(key, _)| key)
}

fn release(said: &Said, going: &Going) -> impl Iterator<Item = Step> {
    let released = going.iter().filter(|(_, departure)| **departure == Departure::Release);
    released.map(|(key, _)| Step::Release { key: key.clone(), plan: said.plan.clone() })
}

fn unassign(going: &Going) -> impl Iterator<Item = Step> {
    going
        .iter()
        .filter(|(_, departure)| **departure == Departure::Go)
        .map(|(key, _)| Step::Unassign(key.clone()))
}

fn unset(said: &Said, observed: &Observed, going: &Going) -> impl Iterator<Item = Step> {
    let wanted = said.settings.keys().map(ToString::to_string).chain(staying(going).cloned());
    let wanted: BTreeSet<String> = wanted.collect();
    observed.settings.keys().filter(move |key| !wanted.contains(*key)).cloned().map(Step::Unset)
}

/// What nodes that the plan does not have told, and the answers to consumers that it does not have. A provider that has
/// yet to go takes its answers back itself.
fn prune(said: &Said, observed: &Observed, going: &Going) -> impl Iterator<Item = Step> {
    let staying = staying(going).filter_map(|key| key.parse::<ModuleKey>().ok());
    let busy: BTreeSet<Bucket> = staying.map(|key| Bucket::bound(&key.module)).collect();
    observed.told.iter().filter(move |(bucket, _)| !busy.contains(*bucket)).flat_map(move |(bucket, keys)| {
        let answers = bucket.name().strip_suffix("_bound");
        let wanted: BTreeSet<String> = answers
            .and_then(|provider| said.providers.get(provider))
            .into_iter()
            .flatten()
            .map(ToString::to_string)
            .collect();
        let known = move |key: &str| match answers {
            Some(_) => wanted.contains(key),
            None => key.split('.').next().is_some_and(|node| said.nodes.contains(node)),
        };
        keys.iter().filter(move |key| !known(key)).map(|key| Step::Prune(bucket.clone(), key.clone()))
    })
}

#[cfg(test)]
mod tests;

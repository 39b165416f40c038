//! The steps from what the bus says to what it is to say. Pure; taken in this order, so that a step never needs a later one.
//!
//! Contents and buckets are there before what names them. Rights are widened before an assignment needs them, and narrowed
//! when nothing does any more. Settings come before the assignment that names their digest. A crash between any two
//! leaves a state from which the rest of the steps follow again.

use std::collections::BTreeSet;

use bytes::Bytes;
use mesh_bus::grants::{Grants, Right};
use mesh_bus::{Account, Bucket};
use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::ModuleName;

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
        /// What is written.
        bytes: Bytes,
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
    if let Some(said) = &desired.said {
        steps.extend(set(said, observed));
        steps.extend(assign(said, observed));
        steps.extend(unassign(said, observed));
        steps.extend(unset(said, observed));
        steps.extend(prune(said, observed));
    }
    steps.extend(narrow(desired, observed));
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

fn narrow(desired: &Desired, observed: &Observed) -> impl Iterator<Item = Step> {
    desired.grants.iter().filter_map(|(account, wanted)| {
        let wider = observed.granted.get(account).is_some_and(|has| union(has, wanted) != *wanted);
        wider.then(|| Step::Narrow(grants(account, wanted.clone())))
    })
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
        let has = observed.assignments.get(&key.to_string()).and_then(Option::as_ref);
        let (digest, bytes) = (value.digest.clone(), value.bytes.clone());
        (has != Some(&value.digest)).then(|| Step::Assign { key: key.clone(), digest, bytes })
    })
}

fn unassign(said: &Said, observed: &Observed) -> impl Iterator<Item = Step> {
    let wanted: BTreeSet<String> = said.assignments.keys().map(ToString::to_string).collect();
    observed.assignments.keys().filter(move |key| !wanted.contains(*key)).cloned().map(Step::Unassign)
}

fn unset(said: &Said, observed: &Observed) -> impl Iterator<Item = Step> {
    let wanted: BTreeSet<String> = said.settings.keys().map(ToString::to_string).collect();
    observed.settings.keys().filter(move |key| !wanted.contains(*key)).cloned().map(Step::Unset)
}

/// What nodes that the plan does not have told, and the answers to consumers that it does not have.
fn prune(said: &Said, observed: &Observed) -> impl Iterator<Item = Step> {
    observed.told.iter().flat_map(move |(bucket, keys)| {
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

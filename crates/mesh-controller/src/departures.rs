//! In which order what the plan does not have any more is taken back: consumers before those who provided to them.
//!
//! A provider that goes stays until its last consumer that goes is taken back by its node. Then it is released: its
//! assignment says that it has no consumers, so that its provisioner shuts the door behind them. When its node tells that
//! this is done, it goes. Whoever is gone for good holds up nobody for ever, nor do two that consume from each other:
//! [`Observed::overdue`] are let go all the same.
//!
//! Pure, and a level: what has been done is read from the bus, so that a crash at any moment is the same as having waited.

use std::collections::{BTreeMap, BTreeSet};

use mesh_bus::Bucket;
use mesh_model::key::ModuleKey;
use mesh_model::wire::AppliedState;

use crate::desired::Said;
use crate::observed::{Assigned, Observed};

/// What is to be done about an assignment that the plan does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Departure {
    /// Nothing yet, and why.
    Stays(String),
    /// It is to have no consumers any more.
    Release,
    /// It is to be taken back.
    Go,
}

/// Those that go, each with what is to be done about it.
#[must_use]
pub fn departures(said: &Said, observed: &Observed) -> BTreeMap<String, Departure> {
    let one = |key: &String| (key.clone(), departure(key, said, observed));
    leaving(said, observed).map(one).collect()
}

/// The keys whose assignment and whose node's word have to be known for that: providers that go, and their consumers.
#[must_use]
pub fn asked(said: &Said, observed: &Observed) -> BTreeSet<String> {
    let provided = |key: &&String| {
        let Assigned { plan, consumers, .. } = &observed.assignments[*key];
        !consumers.is_empty() || plan.as_ref() == Some(&said.plan)
    };
    let providers: Vec<&String> = leaving(said, observed).filter(provided).collect();
    let consumers = providers.iter().flat_map(|key| &observed.assignments[*key].consumers);
    let consumers: Vec<String> = consumers.map(ToString::to_string).collect();
    providers.into_iter().cloned().chain(consumers).collect()
}

fn leaving<'a>(said: &'a Said, observed: &'a Observed) -> impl Iterator<Item = &'a String> {
    let keeps = |key: &str| key.parse::<ModuleKey>().is_ok_and(|key| said.assignments.contains_key(&key));
    observed.assignments.keys().filter(move |key| !keeps(key))
}

fn departure(key: &str, said: &Said, observed: &Observed) -> Departure {
    let Assigned { digest, plan, consumers } = &observed.assignments[key];
    if observed.overdue.contains(key) {
        return Departure::Go;
    }
    let at = at(key);
    let before = those_who_go(key, consumers, said).filter(|consumer| is_there(consumer, observed));
    let before: Vec<String> = before.map(ModuleKey::at).collect();
    if !before.is_empty() {
        let who = before.join(", ");
        return Departure::Stays(format!("{at} stays until its consumers are taken back: {who}"));
    }
    if !consumers.is_empty() {
        return Departure::Release;
    }
    // Released under this plan: its provisioner is asked to let nobody in any more.
    let released = plan.as_ref() == Some(&said.plan);
    let told = observed.applied.get(key).filter(|_| released);
    let done =
        told.is_none_or(|told| Some(&told.plan) == digest.as_ref() && told.state == AppliedState::Applied);
    match done {
        true => Departure::Go,
        false => Departure::Stays(format!("{at} stays until its provisioner has taken back its consumers")),
    }
}

/// The consumers of a key that go too.
fn those_who_go<'a>(
    key: &'a str,
    consumers: &'a BTreeSet<ModuleKey>,
    said: &'a Said,
) -> impl Iterator<Item = &'a ModuleKey> {
    consumers.iter().filter(move |one| !said.assignments.contains_key(*one) && one.to_string() != key)
}

/// Whether a module on a node is assigned still, or its node has not taken it back yet.
fn is_there(key: &ModuleKey, observed: &Observed) -> bool {
    let key = key.to_string();
    let told = observed.told.get(&Bucket::applied()).is_some_and(|told| told.contains(&key));
    told || observed.assignments.contains_key(&key)
}

fn at(key: &str) -> String {
    key.parse::<ModuleKey>().map_or_else(|_| key.to_owned(), |key| key.at())
}

#[cfg(test)]
mod tests;

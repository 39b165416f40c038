//! What the bus says at the moment, as far as the mirror compares it.

use std::collections::{BTreeMap, BTreeSet};

use mesh_bus::grants::Right;
use mesh_bus::{Account, Bucket};
use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::ModuleName;
use mesh_model::wire::{AppliedState, Assignment};

use crate::steps::Step;

/// What the bus says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The keys of the assignments, each with what its value says, as far as that can be read.
    pub assignments: BTreeMap<String, Assigned>,
    /// The keys of the settings, each with the digest of its value's bytes.
    pub settings: BTreeMap<String, Digest>,
    /// The providers whose buckets were made sure of.
    pub buckets: BTreeSet<ModuleName>,
    /// Contents that were kept.
    pub contents: BTreeSet<Digest>,
    /// What was granted since this program started.
    pub granted: BTreeMap<Account, Vec<Right>>,
    /// The keys of what nodes and providers tell.
    pub told: BTreeMap<Bucket, BTreeSet<String>>,
    /// What came of those assignments that somebody waits for.
    pub applied: BTreeMap<String, Outcome>,
    /// Those that the plan does not have, and that are waited for no longer.
    pub overdue: BTreeSet<String>,
}

/// What an assignment on the bus says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assigned {
    /// Its digest.
    pub digest: Option<Digest>,
    /// The plan that it was written for.
    pub plan: Option<Digest>,
    /// The modules that consume from it.
    pub consumers: BTreeSet<ModuleKey>,
}

impl Assigned {
    /// What is read of a value; nothing where it cannot be.
    #[must_use]
    pub fn of(value: &[u8]) -> Self {
        let Ok(read) = serde_json::from_slice::<Assignment>(value) else { return Self::default() };
        let consumers = read.consumers.into_iter();
        let consumers = consumers.map(|one| ModuleKey { node: one.node, module: one.module });
        Self { digest: Some(read.digest), plan: Some(read.plan), consumers: consumers.collect() }
    }
}

/// What a node tells of one assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The digest of the assignment.
    pub plan: Digest,
    /// What came of it.
    pub state: AppliedState,
}

/// What is known anew of those that go, and of their consumers.
pub type Departing = BTreeMap<String, (Option<Assigned>, Option<Outcome>)>;

impl Observed {
    /// What is known anew of those that go.
    pub fn learn(&mut self, departing: Departing) {
        let applied = self.told.entry(Bucket::applied()).or_default();
        for (key, (assigned, outcome)) in departing {
            match &outcome {
                Some(_) => applied.insert(key.clone()),
                None => applied.remove(&key),
            };
            match assigned {
                Some(assigned) => self.assignments.insert(key.clone(), assigned),
                None => self.assignments.remove(&key),
            };
            match outcome {
                Some(outcome) => self.applied.insert(key, outcome),
                None => self.applied.remove(&key),
            };
        }
    }

    /// A step was taken: the bus says so from now on.
    pub fn note(&mut self, step: &Step) {
        match step {
            Step::Keep { digest, .. } => drop(self.contents.insert(digest.clone())),
            Step::Make(provider) => drop(self.buckets.insert(provider.clone())),
            Step::Widen(grants) | Step::Narrow(grants) => {
                drop(self.granted.insert(grants.account.clone(), grants.rights.clone()));
            }
            Step::Set { key, digest, .. } => drop(self.settings.insert(key.to_string(), digest.clone())),
            Step::Assign { key, digest, plan, consumers, .. } => {
                let (digest, plan) = (Some(digest.clone()), Some(plan.clone()));
                let assigned = Assigned { digest, plan, consumers: consumers.clone() };
                drop(self.assignments.insert(key.to_string(), assigned));
            }
            Step::Release { key, plan } => {
                // Its digest is another now, and is read back.
                let assigned = Assigned { plan: Some(plan.clone()), ..Assigned::default() };
                drop(self.assignments.insert(key.clone(), assigned));
            }
            Step::Unassign(key) => drop(self.assignments.remove(key)),
            Step::Unset(key) => drop(self.settings.remove(key)),
            Step::Prune(bucket, key) => {
                if let Some(keys) = self.told.get_mut(bucket) {
                    keys.remove(key);
                }
            }
        }
    }
}

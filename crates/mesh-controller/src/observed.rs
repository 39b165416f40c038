//! What the bus says at the moment, as far as the mirror compares it.

use std::collections::{BTreeMap, BTreeSet};

use mesh_bus::grants::Right;
use mesh_bus::{Account, Bucket};
use mesh_model::digest::Digest;
use mesh_model::name::ModuleName;

use crate::steps::Step;

/// What the bus says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The keys of the assignments, each with the digest that its value names; none where it cannot be read.
    pub assignments: BTreeMap<String, Option<Digest>>,
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
}

impl Observed {
    /// A step was taken: the bus says so from now on.
    pub fn note(&mut self, step: &Step) {
        match step {
            Step::Keep { digest, .. } => drop(self.contents.insert(digest.clone())),
            Step::Make(provider) => drop(self.buckets.insert(provider.clone())),
            Step::Widen(grants) | Step::Narrow(grants) => {
                drop(self.granted.insert(grants.account.clone(), grants.rights.clone()));
            }
            Step::Set { key, digest, .. } => drop(self.settings.insert(key.to_string(), digest.clone())),
            Step::Assign { key, digest, .. } => {
                drop(self.assignments.insert(key.to_string(), Some(digest.clone())));
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

//! The steps from what the store has to what is wanted. Pure.
//!
//! A bucket that is there and bears no mark of ours was made by somebody else. A mark is made before its bucket, and only
//! where there is no such bucket: whoever is stopped between the two finds both right the next time.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::name::ModuleName;
use mesh_provider::Secret;

use crate::desire::{Access, Desired};
use crate::name::{AccessKey, BucketName, UserName};

/// What somebody may do, and with which keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct User {
    /// Each key by its public half.
    pub(crate) keys: BTreeMap<AccessKey, Secret>,
    /// In SeaweedFS's words: `Read:notes`.
    pub(crate) actions: BTreeSet<String>,
    /// Something of it that is never ours: it was switched off, a key was, a policy was put on it.
    pub(crate) altered: bool,
}

/// What the store has.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// Our users and marks.
    pub(crate) users: BTreeMap<UserName, User>,
    /// Those of the wanted buckets that are there.
    pub(crate) buckets: BTreeSet<BucketName>,
}

/// What to do, in this order.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Users who may not come in any more.
    pub(crate) drop: Vec<UserName>,
    /// Marks to make.
    pub(crate) claim: Vec<(BucketName, UserName)>,
    /// Buckets to make.
    pub(crate) make: Vec<BucketName>,
    /// Users to make, or to put right.
    pub(crate) put: Vec<(UserName, User, Put)>,
    /// Buckets that cannot be given, and why.
    pub(crate) refused: BTreeMap<BucketName, String>,
}

/// Whether a user is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    New,
    Change,
}

impl User {
    fn is(&self, other: &Self) -> bool {
        let same = |(one, other): ((&AccessKey, &Secret), (&AccessKey, &Secret))| {
            one.0 == other.0 && one.1.expose() == other.1.expose()
        };
        self.altered == other.altered
            && self.actions == other.actions
            && self.keys.len() == other.keys.len()
            && self.keys.iter().zip(&other.keys).all(same)
    }
}

/// What a consumer may do with its bucket.
const ACTIONS: [&str; 4] = ["Read", "Write", "List", "Tagging"];

/// All steps. Nothing to do is an empty plan.
pub(crate) fn plan(desired: &Desired, observed: &Observed) -> Plan {
    let mut plan = Plan::default();
    let marks = marks(observed);
    for (bucket, module) in &desired.buckets {
        let is_there = observed.buckets.contains(bucket);
        match marks.get(bucket) {
            Some(owner) if owner != module => {
                let why =
                    format!("the bucket `{bucket}` is module `{owner}`'s, and holds what it left there");
                plan.refused.insert(bucket.clone(), why);
                continue;
            }
            Some(_) => {}
            None if is_there => {
                let why =
                    format!("the name `{bucket}` is taken by a bucket that this provisioner did not make");
                plan.refused.insert(bucket.clone(), why);
                continue;
            }
            None => plan.claim.push((bucket.clone(), UserName::mark(bucket, module))),
        }
        if !is_there {
            plan.make.push(bucket.clone());
        }
    }
    let wanted: BTreeMap<_, _> = desired
        .served()
        .filter(|access| !plan.refused.contains_key(&access.bucket))
        .map(|access| (&access.user, user(access)))
        .collect();
    let is_user = |name: &&UserName| name.marks().is_none();
    plan.drop =
        observed.users.keys().filter(is_user).filter(|name| !wanted.contains_key(name)).cloned().collect();
    plan.put = wanted.into_iter().filter_map(|(name, user)| put(name, user, observed)).collect();
    plan
}

/// Whose each bucket is that bears a mark.
fn marks(observed: &Observed) -> BTreeMap<BucketName, ModuleName> {
    observed.users.keys().filter_map(UserName::marks).collect()
}

fn user(access: &Access) -> User {
    let keys = access.keys.iter().filter_map(|key| Some((key.access.clone(), key.secret.clone().ok()?)));
    let actions = ACTIONS.iter().map(|action| format!("{action}:{}", access.bucket));
    User { keys: keys.collect(), actions: actions.collect(), altered: false }
}

fn put(name: &UserName, user: User, observed: &Observed) -> Option<(UserName, User, Put)> {
    match observed.users.get(name) {
        Some(there) if there.is(&user) => None,
        Some(_) => Some((name.clone(), user, Put::Change)),
        None => Some((name.clone(), user, Put::New)),
    }
}

#[cfg(test)]
mod tests;

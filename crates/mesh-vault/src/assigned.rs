//! The assignments as the vault last could read them.
//!
//! An assignment that cannot be read leaves the last good one in force, and where there was none,
//! what its module has is left alone. What nobody wants any more has to stay so for a while before it
//! counts, and an empty bucket takes nothing away: a secret that was dropped by mistake is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mesh_bus::kv::Entry;
use mesh_model::key::{CredentialKey, ModuleKey};
use mesh_model::wire::Assignment;

use crate::plan::Kept;
use crate::rules::{Wanted, wanted};

/// What was read of the bucket.
#[derive(Debug, Default)]
pub struct Assigned {
    read: BTreeMap<ModuleKey, Read>,
    unwanted_since: BTreeMap<CredentialKey, Instant>,
}

#[derive(Debug)]
struct Read {
    revision: u64,
    last_good: Option<Assignment>,
    is_current: bool,
}

impl Assigned {
    /// Takes up the bucket as it is now; what has not changed is not read again.
    pub fn read(&mut self, bucket: &BTreeMap<String, Entry>) {
        let mut before = std::mem::take(&mut self.read);
        for (text, entry) in bucket {
            let Ok(key) = text.parse::<ModuleKey>() else {
                tracing::warn!(key = text, "a key of the assignments is out of shape, and left alone");
                continue;
            };
            let read = match before.remove(&key) {
                Some(known) if known.revision == entry.revision => known,
                known => Read::of(&key, entry, known.and_then(|known| known.last_good)),
            };
            self.read.insert(key, read);
        }
    }

    /// What is wanted now, given what there is.
    pub fn wanted(&mut self, kept: &Kept, grace: Duration, now: Instant) -> Wanted {
        let good = self.read.values().filter_map(|read| read.last_good.as_ref());
        let entries = wanted(good);
        let unreadable = self.read.iter().filter(|(_, read)| !read.is_current).map(|(key, _)| key.clone());
        let mut unsure: BTreeSet<_> = unreadable.collect();
        self.unwanted_since.retain(|key, _| kept.contains_key(key) && !entries.contains_key(key));
        for key in kept.keys().filter(|key| !entries.contains_key(key)) {
            let since = *self.unwanted_since.entry(key.clone()).or_insert(now);
            if self.read.is_empty() || now.duration_since(since) < grace {
                unsure.insert(ModuleKey { node: key.node.clone(), module: key.module.clone() });
            }
        }
        Wanted { entries, unsure, escrow: None }
    }
}

impl Read {
    fn of(key: &ModuleKey, entry: &Entry, last_good: Option<Assignment>) -> Self {
        let revision = entry.revision;
        match serde_json::from_slice::<Assignment>(&entry.value) {
            Ok(read) if (&read.node, &read.module) == (&key.node, &key.module) => {
                Self { revision, last_good: Some(read), is_current: true }
            }
            Ok(read) => {
                tracing::warn!(%key, node = %read.node, module = %read.module, "an assignment is under another's key");
                Self { revision, last_good, is_current: false }
            }
            Err(error) => {
                tracing::warn!(%key, %error, "an assignment cannot be read; the one before stays in force");
                Self { revision, last_good, is_current: false }
            }
        }
    }
}

#[cfg(test)]
mod tests;

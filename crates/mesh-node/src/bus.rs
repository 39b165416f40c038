//! The bus as one node's client sees it: the mirrors of what concerns it, the verbs under its name, its own keys.
//!
//! Which mirrors there are follows from what the node's modules need and provide ([`NodeBus::follow`]). A change in any
//! of them wakes whoever waits at [`NodeBus::woken`]; what changed is not told, since whoever wakes looks at everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mesh_bus::account::Usage;
use mesh_bus::mirror::Entries;
use mesh_bus::verb::{AskError, ask};
use mesh_bus::{Bucket, Bus, Kv, Mirror, grants};
use mesh_model::causes::in_a_line as said;
use mesh_model::digest::Digest;
use mesh_model::key::Entry;
use mesh_model::name::{ModuleName, NodeName, ProvisionName};
use mesh_model::wire::{ConsumerCredentials, ConsumersAnswer, ConsumersAsk, SecretAnswer, SecretAsk};
use mesh_seal::Sealed;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::client::inputs::{Asked, Offered};
use crate::client::lookup::Keys;
use crate::client::world::{Later, World};

/// A file's content is kept in parts of this many bytes.
const PART: u64 = 256 * 1024;
/// How long a mirror may take to show what was written here.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);

/// What is mirrored: keys of a bucket that fit a filter.
type Scope = (Bucket, String);

/// The bus, for one node.
pub struct NodeBus {
    bus: Bus,
    node: NodeName,
    mirrors: Mutex<BTreeMap<Scope, Followed>>,
    /// What this node wrote, until its mirrors show it or something newer.
    written: Mutex<BTreeMap<(String, String), Written>>,
    wake: Arc<Notify>,
}

struct Followed {
    mirror: Arc<Mirror>,
    _waker: JoinSet<()>,
}

struct Written {
    revision: u64,
    /// None where it was deleted.
    value: Option<Vec<u8>>,
    at: Instant,
}

impl NodeBus {
    /// Begins to follow what concerns every node.
    #[must_use]
    pub fn open(bus: Bus, node: NodeName) -> Self {
        let this = Self {
            bus,
            node,
            mirrors: Mutex::default(),
            written: Mutex::default(),
            wake: Arc::new(Notify::new()),
        };
        this.follow(&BTreeSet::new(), &BTreeSet::new());
        this
    }

    /// Follows exactly what a node with these providers and these provisions of its own has to see; says whether any of
    /// it was not followed before.
    pub fn follow(&self, providers: &BTreeSet<ModuleName>, provides: &BTreeSet<ProvisionName>) -> bool {
        let mut wanted: BTreeMap<Scope, Usage> = self.scopes().map(|scope| (scope, Usage::read())).collect();
        wanted.insert((Bucket::registry(), ">".to_owned()), Usage::read());
        for provider in providers {
            wanted.insert((Bucket::bound(provider), self.filter()), Usage::read());
        }
        for provision in provides {
            let scope = (Bucket::collect(), grants::consumers_filter(provision));
            wanted.insert(scope, Usage::consumers(provision));
        }
        let mut mirrors = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
        mirrors.retain(|scope, _| wanted.contains_key(scope));
        let is_more = wanted.len() > mirrors.len();
        for (scope, usage) in wanted {
            mirrors.entry(scope).or_insert_with_key(|(bucket, filter)| {
                let mirror = Mirror::open(&self.bus, bucket.clone(), filter, usage);
                Followed { _waker: waker(&mirror, &self.wake), mirror: Arc::new(mirror) }
            });
        }
        is_more
    }

    fn scopes(&self) -> impl Iterator<Item = Scope> {
        let buckets = [
            Bucket::assignments(),
            Bucket::config(),
            Bucket::credentials(),
            Bucket::needs(),
            Bucket::applied(),
            Bucket::collect(),
        ];
        buckets.into_iter().map(|bucket| (bucket, self.filter()))
    }

    fn filter(&self) -> String {
        format!("{}.>", self.node)
    }

    /// Waits until all that is followed has been read once: before that, nothing can be said to be gone.
    pub async fn ready(&self) {
        let mirrors: Vec<Arc<Mirror>> = {
            let mirrors = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
            mirrors.values().map(|followed| Arc::clone(&followed.mirror)).collect()
        };
        for mirror in mirrors {
            mirror.ready().await;
        }
    }

    /// Waits until something has changed since this was last called.
    pub async fn woken(&self) {
        self.wake.notified().await;
    }

    /// The node's own keys of a bucket, as last seen.
    #[must_use]
    pub fn of_node(&self, bucket: &Bucket) -> Entries {
        self.entries(bucket, &self.filter()).unwrap_or_default()
    }

    /// A key of this node, as last seen or as written here since.
    #[must_use]
    pub fn own(&self, bucket: &Bucket, key: &str) -> Option<Vec<u8>> {
        let keys = Keys { bucket: bucket.name().to_owned(), filter: key.to_owned() };
        self.now(&keys)?.remove(key)
    }

    /// What is held of a scope; none where it is not followed, or was not read yet.
    fn entries(&self, bucket: &Bucket, filter: &str) -> Option<Entries> {
        let mirrors = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
        let followed = mirrors.get(&(bucket.clone(), filter.to_owned()))?;
        followed.mirror.is_ready().then(|| followed.mirror.snapshot())
    }

    /// The mirror that a lookup's keys are in.
    fn covering(&self, bucket: &Bucket, filter: &str) -> Option<Entries> {
        self.entries(bucket, filter)
            .or_else(|| {
                let is_own = filter.starts_with(&format!("{}.", self.node));
                is_own.then(|| self.entries(bucket, &self.filter())).flatten()
            })
            .or_else(|| self.entries(bucket, ">"))
    }

    /// The values under the keys that a filter takes: as the mirror shows them, and over that what was written here and
    /// it does not show yet.
    fn now(&self, keys: &Keys) -> Option<BTreeMap<String, Vec<u8>>> {
        let bucket = Bucket::named(&keys.bucket)?;
        let seen = self.covering(&bucket, &keys.filter)?;
        let read = |(key, entry): (&String, &mesh_bus::kv::Entry)| (key.clone(), entry.value.to_vec());
        let mut now: BTreeMap<String, Vec<u8>> =
            seen.iter().filter(|(key, _)| fits(key, &keys.filter)).map(read).collect();
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for ((name, key), ours) in written.iter() {
            let is_newer = seen.get(key).is_none_or(|seen| seen.revision < ours.revision);
            if *name == keys.bucket && fits(key, &keys.filter) && is_newer {
                match &ours.value {
                    Some(value) => drop(now.insert(key.clone(), value.clone())),
                    None => drop(now.remove(key)),
                }
            }
        }
        Some(now)
    }

    /// Whether what is there says this already: as last written here, or as the mirror shows it since.
    fn says(&self, bucket: &Bucket, key: &str, value: Option<&[u8]>) -> bool {
        let covering = self.covering(bucket, key);
        let seen = covering.as_ref().and_then(|entries| entries.get(key));
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (bucket.name().to_owned(), key.to_owned());
        match written.get(&place) {
            Some(ours) if seen.is_none_or(|seen| seen.revision < ours.revision) => {
                ours.value.as_deref() == value
            }
            _ => {
                written.remove(&place);
                // Of what was not read it cannot be said that it is gone.
                (seen.is_some() || covering.is_some()) && seen.map(|seen| &seen.value[..]) == value
            }
        }
    }

    fn note(&self, bucket: &Bucket, key: &str, revision: u64, value: Option<Vec<u8>>) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (bucket.name().to_owned(), key.to_owned());
        written.insert(place, Written { revision, value, at: Instant::now() });
    }

    /// Goes by the mirrors alone from here on, save for what was written just now: what somebody else removed meanwhile is
    /// then seen to be missing.
    pub fn look_again(&self) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.retain(|_, ours| ours.at.elapsed() < SHOWN_WITHIN);
    }

    /// Asks a verb under this node's name.
    ///
    /// # Errors
    /// Where nobody answers, or the answer is a refusal.
    pub async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        verb: &str,
        body: &impl serde::Serialize,
    ) -> Result<T, AskError> {
        ask(&self.bus, &format!("{verb}.{}", self.node), body).await
    }
}

fn waker(mirror: &Mirror, wake: &Arc<Notify>) -> JoinSet<()> {
    let (mut versions, wake) = (mirror.versions(), Arc::clone(wake));
    let mut task = JoinSet::new();
    task.spawn(async move {
        while versions.changed().await.is_ok() {
            wake.notify_one();
        }
    });
    task
}

/// Whether a key fits a filter: tokens, `*` for any one, `>` for any number of them at the end.
fn fits(key: &str, filter: &str) -> bool {
    let mut tokens = key.split('.');
    for want in filter.split('.') {
        match (want, tokens.next()) {
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (want, Some(token)) if want == token => {}
            _ => return false,
        }
    }
    tokens.next().is_none()
}

impl World for NodeBus {
    fn values(&self, keys: &Keys) -> Option<Vec<(String, Value)>> {
        let read = |(key, value): (String, Vec<u8>)| Some((key, serde_json::from_slice(&value).ok()?));
        Some(self.now(keys)?.into_iter().filter_map(read).collect())
    }

    fn secret<'a>(
        &'a self,
        verb: &'a str,
        module: &'a ModuleName,
        entry: &'a Entry,
    ) -> Later<'a, Asked<Offered>> {
        Box::pin(async move {
            let question = SecretAsk { module: module.clone(), name: entry.to_string() };
            match self.ask::<SecretAnswer<Sealed>>(verb, &question).await {
                Ok(answer) if answer.credentials.is_empty() => {
                    Asked::NotYet(answer.why.unwrap_or_else(|| "the vault has not made it yet".to_owned()))
                }
                Ok(SecretAnswer { credentials, turn, .. }) => Asked::Answer(Offered { credentials, turn }),
                Err(error) => Asked::NotYet(said(&error)),
            }
        })
    }

    fn consumers<'a>(
        &'a self,
        verb: &'a str,
        module: &'a ModuleName,
        provision: &'a ProvisionName,
    ) -> Later<'a, Asked<Vec<ConsumerCredentials<Sealed>>>> {
        Box::pin(async move {
            let mut all = Vec::new();
            let mut after = None;
            loop {
                let question = ConsumersAsk { module: module.clone(), provision: provision.clone(), after };
                match self.ask::<ConsumersAnswer<Sealed>>(verb, &question).await {
                    Err(error) => return Asked::NotYet(said(&error)),
                    Ok(page) => {
                        all.extend(page.entries);
                        after = page.next;
                    }
                }
                if after.is_none() {
                    return Asked::Answer(all);
                }
            }
        })
    }

    fn content<'a>(&'a self, digest: &'a Digest, size: u64) -> Later<'a, Result<Vec<u8>, String>> {
        Box::pin(async move {
            let kv = Kv::new(&self.bus, Bucket::files());
            let mut content = Vec::new();
            for part in 0..size.div_ceil(PART).max(1) {
                let found = kv.get(format!("{digest}.{part}")).await.map_err(|error| said(&error))?;
                let found =
                    found.ok_or_else(|| format!("part {part} of the content {digest} is not there yet"))?;
                content.extend_from_slice(&found.value);
            }
            match Digest::of(&content) == *digest {
                true => Ok(content),
                false => Err(format!("the content {digest} is not what its name says")),
            }
        })
    }

    fn put<'a>(&'a self, bucket: &'a str, key: &'a str, value: Value) -> Later<'a, Result<(), String>> {
        Box::pin(async move {
            let bucket = Bucket::named(bucket).ok_or_else(|| format!("`{bucket}` is no bucket"))?;
            let value = value.to_string().into_bytes();
            if self.says(&bucket, key, Some(&value)) {
                return Ok(());
            }
            let kv = Kv::new(&self.bus, bucket.clone());
            let revision = kv.put(key, value.clone()).await.map_err(|error| said(&error))?;
            self.note(&bucket, key, revision, Some(value));
            Ok(())
        })
    }

    fn delete<'a>(&'a self, bucket: &'a str, key: &'a str) -> Later<'a, Result<(), String>> {
        Box::pin(async move {
            let bucket = Bucket::named(bucket).ok_or_else(|| format!("`{bucket}` is no bucket"))?;
            if self.says(&bucket, key, None) {
                return Ok(());
            }
            let kv = Kv::new(&self.bus, bucket.clone());
            kv.delete(key).await.map_err(|error| said(&error))?;
            self.note(&bucket, key, u64::MAX, None);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    //! Which keys a filter takes.

    use super::fits;

    #[test]
    fn tokens_are_compared_one_by_one() {
        for (key, filter) in [("a.b.c", "a.b.c"), ("a.b.c", "*.b.*"), ("a.b.c", "a.>"), ("a.b", ">")] {
            assert!(fits(key, filter), "{key} {filter}");
        }
        for (key, filter) in [("a.b", "a.b.c"), ("a.b.c", "a.b"), ("a", "a.>"), ("ab.c", "a*.c")] {
            assert!(!fits(key, filter), "{key} {filter}");
        }
    }
}

//! What the mirror touches: the bus, as one trait of a few methods, and the real one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::try_join_all;
use mesh_bus::account::Usage;
use mesh_bus::bucket::{self, BucketError};
use mesh_bus::kv::KvError;
use mesh_bus::mirror::{Entries, Freshness, MirrorError};
use mesh_bus::seat::Tenure;
use mesh_bus::{Bucket, Bus, Mirror};
use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::ModuleName;
use mesh_model::wire::{Applied, AppliedState, Assignment};
use thiserror::Error;
use tokio::sync::Mutex;

use crate::contents::{Contents, ContentsError};
use crate::observed::{Assigned, Departing, Observed, Outcome};
use crate::roster::{Roster, RosterError};
use crate::steps::Step;

/// Why the bus could not be looked at, or a step not be taken.
#[derive(Debug, Error)]
pub enum WorldError {
    /// A bucket could not be read.
    #[error("cannot look at what the bus says")]
    Look(#[from] MirrorError),
    /// A provider's bucket could not be looked for, or made.
    #[error("cannot see to the buckets of providers")]
    Bound(#[from] BucketError),
    /// A key could not be written.
    #[error("cannot mirror the plan into the bus")]
    Write(#[from] KvError),
    /// A key could not be read.
    #[error("cannot see what came of {key}")]
    Read {
        /// The key.
        key: String,
        /// Why.
        #[source]
        source: KvError,
    },
    /// A content could not be kept.
    #[error("cannot keep the content of a file")]
    Keep(#[from] ContentsError),
    /// An account could not be given its grants.
    #[error("cannot give an account its grants")]
    Grant(#[from] RosterError),
    /// Another may hold the seat by now.
    #[error("the seat is not held at the moment: whoever holds it gives grants")]
    NotHeld,
}

/// The bus, as the mirror sees it.
pub trait World: Send + Sync {
    /// What it says.
    fn look(&self) -> impl Future<Output = Result<Observed, WorldError>> + Send;

    /// What it says of these keys by now: the assignment, and what came of it.
    fn look_at(&self, keys: &BTreeSet<String>) -> impl Future<Output = Result<Departing, WorldError>> + Send;

    /// Takes one step.
    fn take(&self, step: &Step) -> impl Future<Output = Result<(), WorldError>> + Send;

    /// The bus may have lost what was not read back: take no step for taken that it does not show.
    fn distrust(&self) -> impl Future<Output = ()> + Send;
}

/// The real bus.
#[derive(Debug)]
pub struct BusWorld {
    bus: Bus,
    tenure: Tenure,
    contents: Arc<Contents>,
    roster: Arc<Roster>,
    assured: Mutex<Assured>,
}

/// What was made sure of, and is not read back at each look.
#[derive(Debug, Default)]
struct Assured {
    buckets: BTreeSet<ModuleName>,
    contents: BTreeSet<Digest>,
}

impl BusWorld {
    /// Nothing is asked yet.
    #[must_use]
    pub fn new(tenure: &Tenure, contents: Arc<Contents>, roster: Arc<Roster>) -> Self {
        let (bus, tenure) = (tenure.bus().clone(), tenure.clone());
        Self { bus, tenure, contents, roster, assured: Mutex::default() }
    }

    /// All that nodes and providers tell: the keys of each bucket.
    async fn told(&self) -> Result<BTreeMap<Bucket, BTreeSet<String>>, WorldError> {
        let mut buckets = vec![Bucket::needs(), Bucket::applied(), Bucket::collect()];
        buckets.extend(bucket::bound(&self.bus).await?);
        let keys = try_join_all(buckets.into_iter().map(|bucket| keys(&self.bus, bucket))).await?;
        Ok(keys.into_iter().collect())
    }

    /// Writes an assignment as it is, but without consumers. One that is gone, or cannot be read, is left to the next step.
    async fn release(&self, key: &str, plan: &Digest) -> Result<(), KvError> {
        let assignments = self.tenure.kv(Bucket::assignments());
        let Some(entry) = assignments.get(key).await? else { return Ok(()) };
        let Ok(mut assignment) = serde_json::from_slice::<Assignment>(&entry.value) else { return Ok(()) };
        assignment.consumers.clear();
        assignment.plan = plan.clone();
        assignment.note_digest();
        let bytes = serde_json::to_vec(&assignment).expect("plain data serializes");
        assignments.update(key, bytes, entry.revision).await.map(drop)
    }

    async fn put(&self, bucket: Bucket, key: &ModuleKey, bytes: &Bytes) -> Result<(), KvError> {
        self.tenure.kv(bucket).put(key, bytes.clone()).await.map(drop)
    }

    async fn delete(&self, bucket: Bucket, key: impl Display) -> Result<(), KvError> {
        self.tenure.kv(bucket).delete(key).await.map(drop)
    }
}

impl BusWorld {
    /// Takes away what cannot be a key: somebody wrote it who wishes us ill, and it must hold nobody up. What reads as a
    /// filter is left, since whatever fits it would go too.
    async fn strike(&self, bucket: &Bucket, key: &str) -> Result<(), WorldError> {
        if key.split('.').any(|token| matches!(token, "*" | ">")) {
            tracing::warn!(%bucket, key, "this cannot be a key, and cannot be taken away alone: it is left");
            return Ok(());
        }
        if let Some(entry) = whole(&self.bus, bucket.clone()).await?.get(key) {
            bucket::purge(&self.bus, bucket, key, entry.revision).await?;
        }
        Ok(())
    }
}

/// All that a bucket holds now.
async fn whole(bus: &Bus, bucket: Bucket) -> Result<Entries, MirrorError> {
    let mirror = Mirror::open(bus, bucket, ">", Usage::read());
    let mut freshness = mirror.freshness();
    let read = freshness.wait_for(|freshness| *freshness != Freshness::Empty).await;
    match read.as_deref() {
        Ok(Freshness::Stale(error)) => Err(error.clone()),
        // The sender lives as long as the mirror.
        _ => Ok(mirror.snapshot()),
    }
}

/// What a node tells of an assignment; what cannot be read is something that is not done.
fn outcome(value: &[u8]) -> Outcome {
    match serde_json::from_slice::<Applied>(value) {
        Ok(told) => Outcome { plan: told.plan, state: told.state },
        Err(_) => Outcome { plan: Digest::of(b""), state: AppliedState::Failed },
    }
}

/// The keys of a bucket.
async fn keys(bus: &Bus, bucket: Bucket) -> Result<(Bucket, BTreeSet<String>), MirrorError> {
    let entries = whole(bus, bucket.clone()).await?;
    Ok((bucket, entries.keys().cloned().collect()))
}

impl World for BusWorld {
    async fn look(&self) -> Result<Observed, WorldError> {
        let assignments = whole(&self.bus, Bucket::assignments());
        let settings = whole(&self.bus, Bucket::config());
        let (assignments, settings) = tokio::try_join!(assignments, settings)?;
        let assured = self.assured.lock().await;
        Ok(Observed {
            assignments: assignments
                .iter()
                .map(|(k, entry)| (k.clone(), Assigned::of(&entry.value)))
                .collect(),
            settings: settings.iter().map(|(k, entry)| (k.clone(), Digest::of(&entry.value))).collect(),
            buckets: assured.buckets.clone(),
            contents: assured.contents.clone(),
            granted: self.roster.granted().await,
            told: self.told().await?,
            ..Observed::default()
        })
    }

    async fn look_at(&self, keys: &BTreeSet<String>) -> Result<Departing, WorldError> {
        let (assignments, applied) =
            (self.tenure.kv(Bucket::assignments()), self.tenure.kv(Bucket::applied()));
        let mut found = Departing::new();
        for key in keys {
            let failed = |source| WorldError::Read { key: key.clone(), source };
            let (assigned, told) =
                tokio::try_join!(assignments.get(key), applied.get(key)).map_err(failed)?;
            let assigned = assigned.map(|entry| Assigned::of(&entry.value));
            found.insert(key.clone(), (assigned, told.map(|entry| outcome(&entry.value))));
        }
        Ok(found)
    }

    async fn take(&self, step: &Step) -> Result<(), WorldError> {
        match step {
            Step::Keep { digest, bytes } => {
                self.contents.keep(bytes).await?;
                self.assured.lock().await.contents.insert(digest.clone());
            }
            Step::Make(provider) => {
                bucket::ensure(&self.bus, &[Bucket::bound(provider)]).await?;
                self.assured.lock().await.buckets.insert(provider.clone());
            }
            // The server takes an account from whoever signs it, whenever that was: so we look first.
            Step::Widen(_) | Step::Narrow(_) if !self.tenure.is_held() => return Err(WorldError::NotHeld),
            Step::Widen(grants) | Step::Narrow(grants) => self.roster.grant(grants).await?,
            Step::Set { key, bytes, .. } => self.put(Bucket::config(), key, bytes).await?,
            Step::Assign { key, bytes, .. } => self.put(Bucket::assignments(), key, bytes).await?,
            Step::Release { key, plan } => self.release(key, plan).await?,
            Step::Unassign(key) => self.delete(Bucket::assignments(), key).await?,
            Step::Unset(key) => self.delete(Bucket::config(), key).await?,
            Step::Prune(bucket, key) => match self.delete(bucket.clone(), key).await {
                Err(KvError::Key { .. }) => self.strike(bucket, key).await?,
                deleted => deleted?,
            },
        }
        Ok(())
    }

    async fn distrust(&self) {
        *self.assured.lock().await = Assured::default();
        self.roster.forget_granted().await;
    }
}

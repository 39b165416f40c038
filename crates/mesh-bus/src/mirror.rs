//! All that an account may read of a bucket, held in memory and kept up to date.
//!
//! Start at [`Mirror::open`]. Each round takes the whole state from the server anew, replaces what was held,
//! and then follows the changes; a round ends after [`ROUND`], when the connection was made anew, and when
//! anything looks wrong. So a change that was lost on the way costs one round and nothing else, and nobody
//! has to resume from a sequence, which would miss deletes.
//!
//! It holds bytes by key. Whether a key is in shape, and what its value says, is for whoever reads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::account::Usage;
use crate::bucket::Bucket;
use crate::client::{Bus, RequestError};
use crate::kv::Entry;

mod round;

/// How long changes are followed before the whole state is read again.
pub const ROUND: Duration = Duration::from_secs(30);
/// The pause before a round that failed is tried again: first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// What is held of a bucket: its keys in order.
pub type Entries = Arc<BTreeMap<String, Entry>>;

/// Why the state could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MirrorError {
    /// It is not granted to the account, or there is no such bucket.
    #[error("`{account}` may not read {filter} of {bucket}, or the bucket is not there")]
    Denied {
        /// The bucket.
        bucket: String,
        /// Which keys.
        filter: String,
        /// Who asked.
        account: String,
    },
    /// The server could not be asked.
    #[error("cannot read {filter} of {bucket}")]
    Ask {
        /// The bucket.
        bucket: String,
        /// Which keys.
        filter: String,
        /// Why not.
        #[source]
        source: RequestError,
    },
    /// The server refused, or what it sends makes no sense.
    #[error("the bus does not let {filter} of {bucket} be read: {why}")]
    Refused {
        /// The bucket.
        bucket: String,
        /// Which keys.
        filter: String,
        /// In the server's words.
        why: String,
    },
}

/// How fresh what is held is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing was read yet.
    Empty,
    /// It follows the bucket.
    Live,
    /// It is what was last read: since then, reading fails.
    Stale(MirrorError),
}

/// What is mirrored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) bucket: Bucket,
    pub(crate) filter: String,
    pub(crate) usage: Usage,
}

#[derive(Debug)]
struct Shared {
    entries: Mutex<Entries>,
    version: watch::Sender<u64>,
    freshness: watch::Sender<Freshness>,
}

/// A part of a bucket in memory. It stops following when dropped.
#[derive(Debug)]
pub struct Mirror {
    shared: Arc<Shared>,
    version: watch::Receiver<u64>,
    _task: JoinSet<()>,
}

impl Mirror {
    /// Begins to follow the keys that fit a filter (`>` for all), for the use that the account is granted it
    /// for.
    ///
    /// One account mirrors one use of one bucket once: a second mirror of the same would take the first one's
    /// place.
    #[must_use]
    pub fn open(bus: &Bus, bucket: Bucket, filter: &str, usage: Usage) -> Self {
        let shared = Arc::new(Shared {
            entries: Mutex::default(),
            version: watch::channel(0).0,
            freshness: watch::channel(Freshness::Empty).0,
        });
        let mut task = JoinSet::new();
        let scope = Scope { bucket, filter: filter.to_owned(), usage };
        task.spawn(follow(bus.clone(), scope, Arc::clone(&shared)));
        Self { version: shared.version.subscribe(), shared, _task: task }
    }

    /// What is held now.
    #[must_use]
    pub fn snapshot(&self) -> Entries {
        self.shared.lock().clone()
    }

    /// Waits for the first whole state. Where reading fails, it goes on waiting: see [`Mirror::freshness`].
    pub async fn ready(&self) {
        let mut version = self.shared.version.subscribe();
        // The sender lives as long as we do.
        let _ = version.wait_for(|version| *version > 0).await;
    }

    /// Whether a whole state was ever read: before that, what is not held may be there all the same.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self.shared.version.borrow() > 0
    }

    /// Waits until what is held has changed since this was last called.
    pub async fn changed(&mut self) {
        // The sender lives as long as we do.
        let _ = self.version.changed().await;
    }

    /// A number that grows with each change: to wait for several mirrors at once.
    #[must_use]
    pub fn versions(&self) -> watch::Receiver<u64> {
        self.shared.version.subscribe()
    }

    /// How fresh it is, and why not fresher.
    #[must_use]
    pub fn freshness(&self) -> watch::Receiver<Freshness> {
        self.shared.freshness.subscribe()
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A whole state takes the place of what was held; nobody is woken for one that says the same.
    fn replace(&self, entries: BTreeMap<String, Entry>) {
        let same = {
            let mut held = self.lock();
            let same = **held == entries;
            if !same {
                *held = Arc::new(entries);
            }
            same
        };
        self.version.send_if_modified(|version| {
            let news = !same || *version == 0;
            *version += u64::from(news);
            news
        });
        self.freshness
            .send_if_modified(|freshness| std::mem::replace(freshness, Freshness::Live) != Freshness::Live);
    }

    fn change(&self, key: String, entry: Option<Entry>) {
        {
            let mut held = self.lock();
            // Copies only while somebody holds a snapshot.
            let entries = Arc::make_mut(&mut held);
            match entry {
                Some(entry) => drop(entries.insert(key, entry)),
                None => drop(entries.remove(&key)),
            }
        }
        self.version.send_modify(|version| *version += 1);
    }

    fn fail(&self, error: MirrorError, scope: &Scope) {
        let stale = Freshness::Stale(error.clone());
        let news = self.freshness.send_if_modified(|freshness| {
            let news = *freshness != stale;
            *freshness = stale;
            news
        });
        if news {
            let (bucket, filter) = (&scope.bucket, &scope.filter);
            tracing::warn!(%bucket, filter, %error, "cannot follow the bucket; trying again");
        }
    }
}

async fn follow(bus: Bus, scope: Scope, shared: Arc<Shared>) {
    let mut pause = BACK_OFF.0;
    loop {
        let mut connections = bus.connections();
        connections.mark_unchanged();
        let begun = Instant::now();
        let round = round::run(&bus, &scope, &shared, begun + ROUND);
        let ended = tokio::select! {
            ended = round => ended,
            _ = connections.changed() => Ok(()),
        };
        let Err(error) = ended else {
            pause = BACK_OFF.0;
            continue;
        };
        shared.fail(error, &scope);
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = (pause * 2).min(BACK_OFF.1),
            _ = connections.changed() => pause = BACK_OFF.0,
        }
    }
}

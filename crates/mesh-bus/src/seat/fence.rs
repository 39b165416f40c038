//! The fence of a seat: what keeps a former holder from writing, whatever it believes.
//!
//! Start at [`Fence::raise`]. In each bucket's stream, beside its keys, stand a few marks (`mesh-fence.<bucket>.lane.<n>`) that say in
//! which term of the seat they were last put. A holder puts them before it reads or writes anything, by compare-and-set,
//! never over those of a later term. Each of its writes names one of them and the sequence that it stands at: once
//! another has put its own, the server refuses the write. So whoever slept between its last look and its write is refused, for
//! however long it slept.
//!
//! A lease in another stream cannot do that: the server compares within one stream. There are several lanes since a replicated
//! stream has one message at a time wait for one such comparison.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use crate::batch::{self, Part};
use crate::bucket::{self, Bucket, BucketError, Latest};
use crate::client::{self, Bus};

const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
const EXPECTED_OF: &str = "Nats-Expected-Last-Subject-Sequence-Subject";
/// How many writes of one holder into one bucket may be on their way at once. Whoever has fewer would have to put those of
/// before all the same.
const LANES: u64 = 16;
/// The pause before marks are put again that another's, or a write that was on its way, came before.
const PAUSE: Duration = Duration::from_millis(3);

/// Why a fence could not be raised.
#[derive(Debug, Error)]
pub enum FenceError {
    /// Somebody has held the seat since.
    #[error("the seat was taken by another: {bucket} is fenced for its term {term}")]
    Later {
        /// The bucket.
        bucket: String,
        /// The other's term.
        term: u64,
    },
    /// The bucket could not be asked, or refused.
    #[error("cannot fence {bucket}")]
    Bucket {
        /// The bucket.
        bucket: String,
        /// Why not.
        #[source]
        source: BucketError,
    },
}

/// What a mark says.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    v: u32,
    term: u64,
}

/// The fence of one term of one seat. Clones share it.
#[derive(Clone)]
pub struct Fence(Arc<Shared>);

struct Shared {
    bus: Bus,
    term: u64,
    fallen: CancellationToken,
    lanes: tokio::sync::Mutex<BTreeMap<Bucket, Arc<Lanes>>>,
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("term", &self.0.term).finish_non_exhaustive()
    }
}

/// The marks of one bucket, each for one write at a time.
pub(crate) struct Lanes {
    bucket: Bucket,
    /// The sequence that the first stands at; the others follow it.
    first: u64,
    free: Mutex<Vec<u64>>,
    places: Semaphore,
}

/// A mark, until the write that names it is answered.
pub(crate) struct Lane<'a> {
    lanes: &'a Lanes,
    number: u64,
    _place: SemaphorePermit<'a>,
}

impl Fence {
    /// Nothing is raised yet. `term` counts how often the seat has changed hands.
    pub(crate) fn new(bus: &Bus, term: u64) -> Self {
        let (fallen, lanes) = (CancellationToken::new(), tokio::sync::Mutex::default());
        Self(Arc::new(Shared { bus: bus.clone(), term, fallen, lanes }))
    }

    pub(crate) fn term(&self) -> u64 {
        self.0.term
    }

    /// Cancelled once the server has refused us something as a former holder's.
    pub(crate) fn fallen(&self) -> &CancellationToken {
        &self.0.fallen
    }

    /// Puts our marks in a bucket: from then on nobody of an earlier term writes there.
    ///
    /// # Errors
    /// [`FenceError::Later`] where somebody of a later term has; or where the bucket cannot be asked.
    pub async fn raise(&self, bucket: &Bucket) -> Result<(), FenceError> {
        self.lanes(bucket).await.map(drop)
    }

    /// The marks of a bucket, put where they are not ours yet.
    pub(crate) async fn lanes(&self, bucket: &Bucket) -> Result<Arc<Lanes>, FenceError> {
        let mut all = self.0.lanes.lock().await;
        if let Some(lanes) = all.get(bucket) {
            return Ok(Arc::clone(lanes));
        }
        let failed = |source| FenceError::Bucket { bucket: bucket.to_string(), source };
        let first = loop {
            // Read before it is compared: who put theirs in between is noticed.
            let before = self.standing(bucket).await.map_err(failed)?;
            match &before {
                Some((term, _)) if *term > self.0.term => {
                    self.0.fallen.cancel();
                    return Err(FenceError::Later { bucket: bucket.to_string(), term: *term });
                }
                // What was not acknowledged was done all the same.
                Some((term, first)) if *term == self.0.term => break *first,
                _ => {}
            }
            let before = before.map_or(0, |(_, first)| first);
            if let Some(first) = self.put(bucket, before).await.map_err(failed)? {
                break first;
            }
            tokio::time::sleep(PAUSE).await;
        };
        let count = count(bucket);
        let places = Semaphore::new(usize::try_from(count).expect("a few"));
        let free = Mutex::new((0..count).rev().collect());
        let lanes = Arc::new(Lanes { bucket: bucket.clone(), first, free, places });
        all.insert(bucket.clone(), Arc::clone(&lanes));
        Ok(lanes)
    }

    /// Whether the marks of a bucket are still ours. Where they are not, the fence has fallen.
    pub(crate) async fn stands(&self, bucket: &Bucket) -> Result<bool, BucketError> {
        let stands = self.standing(bucket).await?.is_some_and(|(term, _)| term == self.0.term);
        if !stands {
            self.0.fallen.cancel();
        }
        Ok(stands)
    }

    /// Whose marks stand in a bucket, and the sequence of the first. They are written as one, so the newest is the last.
    async fn standing(&self, bucket: &Bucket) -> Result<Option<(u64, u64)>, BucketError> {
        let newest = bucket::latest(&self.0.bus, bucket, &bucket.fence("lane.*")).await?;
        let Some(Latest { sequence, value, .. }) = newest else { return Ok(None) };
        let mark: Mark = serde_json::from_slice(&value)
            .map_err(|error| bucket::refused(bucket, format!("a fence that cannot be read: {error}")))?;
        Ok(Some((mark.term, sequence.saturating_sub(count(bucket) - 1))))
    }

    /// Puts the marks over those that begin at `before` (0 for none); `None` where others stand there by now.
    async fn put(&self, bucket: &Bucket, before: u64) -> Result<Option<u64>, BucketError> {
        let mark = Mark { v: 1, term: self.0.term };
        let payload: Bytes = serde_json::to_vec(&mark).expect("numbers are JSON").into();
        let part = |number: u64| {
            let mut headers = HeaderMap::new();
            let expected = if before == 0 { 0 } else { before + number };
            headers.insert(EXPECTED, expected.to_string().as_str());
            Part { subject: bucket.fence(&format!("lane.{number}")), headers, payload: payload.clone() }
        };
        let asked = match count(bucket) {
            1 => {
                let Part { subject, headers, payload } = part(0);
                self.0.bus.request(subject, Some(headers), payload).await
            }
            count => batch::publish(&self.0.bus, (0..count).map(part).collect()).await,
        };
        let answer = asked.map_err(|source| BucketError::Ask { bucket: bucket.to_string(), source })?;
        match client::written(&answer.payload) {
            Ok(last) => Ok(Some(last - (count(bucket) - 1))),
            Err(refusal) if refusal.is_wrong_sequence() => Ok(None),
            Err(refusal) => Err(bucket::refused(bucket, refusal.why)),
        }
    }
}

fn count(bucket: &Bucket) -> u64 {
    if bucket.takes_batches() { LANES } else { 1 }
}

impl Lanes {
    /// Waits for a mark that no other write names at the moment.
    pub(crate) async fn take(&self) -> Lane<'_> {
        let place = self.places.acquire().await.expect("it is never closed");
        let number = self.free().pop().expect("there are as many as places");
        Lane { lanes: self, number, _place: place }
    }

    fn free(&self) -> MutexGuard<'_, Vec<u64>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane<'_> {
    /// Has a write happen only while the mark stands.
    pub(crate) fn guard(&self, headers: &mut HeaderMap) {
        headers.insert(EXPECTED, (self.lanes.first + self.number).to_string().as_str());
        headers.insert(EXPECTED_OF, self.lanes.bucket.fence(&format!("lane.{}", self.number)).as_str());
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        self.lanes.free().push(self.number);
    }
}

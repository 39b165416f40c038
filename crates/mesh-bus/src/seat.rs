//! A seat's lease: one key, written by compare-and-set by whoever holds the seat.
//!
//! Start at [`Lease::take`]. The holder renews at a third of the lease. Whoever waits times the silence on
//! its own clock, so that clocks need not agree. What a holder writes is not yet fenced by the lease.

use std::time::Duration;

use mesh_model::name::{NodeName, SeatName};
use serde::{Deserialize, Serialize};
use time::format_description::well_known::Rfc3339;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::authority::Clock;
use crate::bucket::Bucket;
use crate::client::Bus;
use crate::kv::{Entry, Kv, KvError};

/// Who wants a seat, and for how long at a time.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The seat.
    pub seat: SeatName,
    /// The node that takes it.
    pub node: NodeName,
    /// How long the seat is held after the last renewal.
    pub lease: Duration,
    /// What time it is, to say since when.
    pub clock: Clock,
}

/// What the lease says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    v: u32,
    /// The node that holds the seat.
    pub node: NodeName,
    /// Which of its processes, so that a holder knows its own writing.
    pub instance: String,
    /// Since when (RFC 3339).
    pub since: String,
}

/// A seat that is held, and renewed until it is released.
#[derive(Debug)]
pub struct Lease {
    held: watch::Receiver<bool>,
    stop: CancellationToken,
    task: JoinSet<()>,
}

impl Lease {
    /// Takes a seat: at once where nobody holds it or this node did, else when its holder has fallen silent.
    /// It waits for as long as that takes, and through a bus that is away; drop it to stop waiting.
    pub async fn take(bus: &Bus, terms: Terms) -> Self {
        let held = Held {
            v: 1,
            node: terms.node.clone(),
            instance: bus.client().new_inbox(),
            since: (terms.clock)().format(&Rfc3339).unwrap_or_default(),
        };
        let chair = Chair { kv: Kv::new(bus, Bucket::seats()), terms, held };
        let revision = chair.sit().await;
        let (tell, held) = watch::channel(true);
        let stop = CancellationToken::new();
        let mut task = JoinSet::new();
        task.spawn(chair.keep(revision, tell, stop.clone()));
        Self { held, stop, task }
    }

    /// Whether the seat is held now: `false` while renewing fails for longer than the lease, or somebody else
    /// has it.
    #[must_use]
    pub fn held(&self) -> watch::Receiver<bool> {
        self.held.clone()
    }

    /// Gives the seat up, so that another need not wait.
    pub async fn release(mut self) {
        self.stop.cancel();
        while self.task.join_next().await.is_some() {}
    }
}

struct Chair {
    kv: Kv,
    terms: Terms,
    held: Held,
}

impl Chair {
    fn text(&self) -> Vec<u8> {
        serde_json::to_vec(&self.held).expect("texts are JSON")
    }

    fn is_ours(&self, entry: &Entry) -> bool {
        serde_json::from_slice::<Held>(&entry.value).is_ok_and(|held| held.instance == self.held.instance)
    }

    /// A former process of this node is gone: nobody has to wait for it.
    fn is_our_nodes(&self, entry: &Entry) -> bool {
        serde_json::from_slice::<Held>(&entry.value).is_ok_and(|held| held.node == self.held.node)
    }

    /// Waits for the seat and takes it; returns the revision.
    async fn sit(&self) -> u64 {
        let mut seen: Option<(u64, Instant)> = None;
        loop {
            match self.try_to_sit(&mut seen).await {
                Ok(Some(revision)) => return revision,
                Ok(None) | Err(KvError::Conflict { .. }) => {}
                Err(error) => {
                    tracing::warn!(seat = %self.terms.seat, %error, "cannot take the seat; trying again")
                }
            }
            tokio::time::sleep(self.terms.lease / 6).await;
        }
    }

    async fn try_to_sit(&self, seen: &mut Option<(u64, Instant)>) -> Result<Option<u64>, KvError> {
        let seat = &self.terms.seat;
        let Some(entry) = self.kv.get(seat).await? else {
            return self.kv.create(seat, self.text()).await.map(Some);
        };
        let since = match *seen {
            Some((revision, since)) if revision == entry.revision => since,
            _ => seen.insert((entry.revision, Instant::now())).1,
        };
        if self.is_our_nodes(&entry) || since.elapsed() >= self.terms.lease {
            return self.kv.update(seat, self.text(), entry.revision).await.map(Some);
        }
        Ok(None)
    }

    /// Renews until told to stop; where another has taken the seat, waits for it like anybody.
    async fn keep(self, mut revision: u64, held: watch::Sender<bool>, stop: CancellationToken) {
        let mut renewed = Instant::now();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(self.terms.lease / 3) => {}
            }
            match self.renew(revision).await {
                Ok(Some(next)) => {
                    (revision, renewed) = (next, Instant::now());
                    held.send_if_modified(|held| !std::mem::replace(held, true));
                }
                Ok(None) => {
                    held.send_replace(false);
                    tracing::error!(seat = %self.terms.seat, "another has taken the seat");
                    tokio::select! {
                        () = stop.cancelled() => return,
                        next = self.sit() => (revision, renewed) = (next, Instant::now()),
                    }
                    held.send_replace(true);
                }
                Err(error) => {
                    tracing::warn!(seat = %self.terms.seat, %error, "cannot renew the lease");
                    if renewed.elapsed() >= self.terms.lease {
                        held.send_if_modified(|held| std::mem::replace(held, false));
                    }
                }
            }
        }
        if let Err(error) = self.kv.delete_at(&self.terms.seat, revision).await {
            tracing::debug!(seat = %self.terms.seat, %error, "the seat was not given up; the lease will run out");
        }
    }

    /// The next revision, or `None` where the seat is another's.
    async fn renew(&self, revision: u64) -> Result<Option<u64>, KvError> {
        let seat = &self.terms.seat;
        match self.kv.update(seat, self.text(), revision).await {
            Ok(next) => Ok(Some(next)),
            // A renewal that was not acknowledged may have been done all the same.
            Err(KvError::Conflict { .. }) => match self.kv.get(seat).await? {
                Some(entry) if self.is_ours(&entry) => Ok(Some(entry.revision)),
                Some(_) => Ok(None),
                None => self.kv.create(seat, self.text()).await.map(Some),
            },
            Err(error) => Err(error),
        }
    }
}

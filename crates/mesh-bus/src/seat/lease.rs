//! A seat's lease: one key, written by compare-and-set by whoever holds the seat.
//!
//! Start at [`Chair::sit`]. The holder renews at a sixth of the lease, and counts the seat as its own for so long after it *sent* the last
//! renewal that came through. Whoever waits looks often, and takes it after a longer silence, which it counts in looks of its
//! own: neither reads the other's clock, and neither takes time in which the bus was away for silence.

use std::time::Duration;

use time::format_description::well_known::Rfc3339;
use tokio::time::Instant;

use super::{Held, Terms};
use crate::bucket::Bucket;
use crate::client::Bus;
use crate::kv::{Entry, Kv, KvError};

/// Shares of the lease, in twenty-fourths.
const LOOK: u32 = 1;
/// How often the holder renews.
const RENEWAL: u32 = 4;
/// For how long a renewal holds. Longer than two renewals, so that one that is lost costs nothing.
const HOLDS: u32 = 14;
/// How long a silence has to be. Longer than a renewal holds by more than clocks can differ in their pace.
const SILENCE: u32 = 18;

/// Another has the seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost;

/// The seat, as we hold it.
#[derive(Debug, Clone)]
pub(super) struct Seated {
    pub(super) term: u64,
    /// Until when, by our own clock.
    pub(super) until: Instant,
    since: String,
    revision: u64,
}

/// What somebody who wants a seat needs.
#[derive(Debug)]
pub(super) struct Chair {
    kv: Kv,
    terms: Terms,
    instance: String,
    /// A former process of this node is gone: at our start nobody has to wait for it.
    is_new: bool,
    complained: bool,
}

/// The silence of a holder, as far as we heard it.
struct Silence {
    revision: u64,
    looked: Instant,
    lasted: Duration,
}

impl Chair {
    pub(super) fn new(bus: &Bus, terms: Terms) -> Self {
        let (kv, instance) = (Kv::new(bus, Bucket::seats()), bus.client().new_inbox());
        Self { kv, terms, instance, is_new: true, complained: false }
    }

    fn share(&self, of: u32) -> Duration {
        self.terms.lease * of / 24
    }

    /// How often the lease is renewed.
    pub(super) fn renewal(&self) -> Duration {
        self.share(RENEWAL)
    }

    /// Waits for the seat and takes it.
    pub(super) async fn sit(&mut self) -> Seated {
        let mut silence = None;
        loop {
            match self.try_to_sit(&mut silence).await {
                Ok(Some(seated)) => {
                    self.complained = false;
                    return seated;
                }
                // Somebody was quicker; or what was not acknowledged may be ours: the next look says.
                Ok(None) | Err(KvError::Conflict { .. }) => self.complained = false,
                Err(error) => self.complain(&error),
            }
            self.is_new = false;
            tokio::time::sleep(self.share(LOOK)).await;
        }
    }

    async fn try_to_sit(&self, silence: &mut Option<Silence>) -> Result<Option<Seated>, KvError> {
        let seat = &self.terms.seat;
        let asked = Instant::now();
        let Some(entry) = self.kv.latest(seat).await? else {
            let held = self.held(1, self.now());
            let revision = self.kv.create(seat, text(&held)).await?;
            return Ok(Some(self.seated(held, asked, revision)));
        };
        let before = read(&entry);
        if let Some(held) = before.as_ref().filter(|held| self.is_ours(held)) {
            // We took it, and did not hear so.
            return Ok(Some(self.seated(held.clone(), asked, entry.revision)));
        }
        let is_free =
            before.as_ref().is_none_or(|held| held.vacant || self.is_new && held.node == self.terms.node);
        if !is_free && self.listen(silence, entry.revision) < self.share(SILENCE) {
            return Ok(None);
        }
        let held = self.held(before.map_or(0, |held| held.term) + 1, self.now());
        let asked = Instant::now();
        let revision = self.kv.update(seat, text(&held), entry.revision).await?;
        Ok(Some(self.seated(held, asked, revision)))
    }

    /// For how long nothing was heard of the holder. The time between two looks counts for two pauses at most: in what is
    /// longer we, or the bus, were away, and so may the holder's renewals have been.
    fn listen(&self, silence: &mut Option<Silence>, revision: u64) -> Duration {
        let now = Instant::now();
        let lasted = match silence.as_ref().filter(|silence| silence.revision == revision) {
            Some(before) => before.lasted + (now - before.looked).min(self.share(LOOK) * 2),
            None => Duration::ZERO,
        };
        *silence = Some(Silence { revision, looked: now, lasted });
        lasted
    }

    /// Renews, and again until it is known what came of it.
    pub(super) async fn renew(&mut self, seated: &Seated, term: u64) -> Result<Seated, Lost> {
        loop {
            match self.try_to_renew(seated, term).await {
                Ok(renewed) => return renewed,
                Err(error) => self.complain(&error),
            }
            tokio::time::sleep(self.share(LOOK)).await;
        }
    }

    pub(super) async fn try_to_renew(
        &mut self,
        seated: &Seated,
        term: u64,
    ) -> Result<Result<Seated, Lost>, KvError> {
        let (seat, asked) = (&self.terms.seat, Instant::now());
        let held = self.held(term, seated.since.clone());
        let renewed = match self.kv.update(seat, text(&held), seated.revision).await {
            Ok(revision) => self.seated(held, asked, revision),
            // A renewal that was not acknowledged may have been done all the same.
            Err(KvError::Conflict { .. }) => {
                let Some(entry) = self.kv.latest(seat).await? else { return Ok(Err(Lost)) };
                if !read(&entry).is_some_and(|held| self.is_ours(&held)) {
                    return Ok(Err(Lost));
                }
                let asked = Instant::now();
                let revision = self.kv.update(seat, text(&held), entry.revision).await?;
                self.seated(held, asked, revision)
            }
            Err(error) => return Err(error),
        };
        self.complained = false;
        Ok(Ok(renewed))
    }

    /// Gives the seat up, so that another need not wait.
    pub(super) async fn rise(&self, seated: &Seated) {
        let held = Held { vacant: true, ..self.held(seated.term, seated.since.clone()) };
        if let Err(error) = self.kv.update(&self.terms.seat, text(&held), seated.revision).await {
            tracing::debug!(seat = %self.terms.seat, %error, "the seat was not given up; its lease will run out");
        }
    }

    /// Once, until it goes well again.
    pub(super) fn complain(&mut self, error: &KvError) {
        if !std::mem::replace(&mut self.complained, true) {
            let error = error as &dyn std::error::Error;
            tracing::warn!(seat = %self.terms.seat, error, "the seat's lease cannot be asked for; trying again");
        }
    }

    /// The time counts from before it was asked: that is when others may begin to hear nothing of us.
    fn seated(&self, held: Held, asked: Instant, revision: u64) -> Seated {
        Seated { term: held.term, until: asked + self.share(HOLDS), since: held.since, revision }
    }

    fn held(&self, term: u64, since: String) -> Held {
        let (node, instance) = (self.terms.node.clone(), self.instance.clone());
        Held { v: 1, node, instance, since, term, vacant: false }
    }

    fn now(&self) -> String {
        (self.terms.clock)().format(&Rfc3339).unwrap_or_default()
    }

    fn is_ours(&self, held: &Held) -> bool {
        held.instance == self.instance && !held.vacant
    }
}

fn text(held: &Held) -> Vec<u8> {
    serde_json::to_vec(held).expect("texts and numbers are JSON")
}

/// What the key says; nothing where somebody wrote there what is no lease.
fn read(entry: &Entry) -> Option<Held> {
    serde_json::from_slice(&entry.value).ok()
}

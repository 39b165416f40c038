//! The mirror: it has the bus say what the plan in effect says, again and again.
//!
//! Start at [`run`]. It wakes for a plan that took effect, for somebody who joined, and each period; whatever woke it, it
//! compares the whole desired with the whole observed and takes the steps between. What it observed it remembers from one
//! pass to the next, being the only writer, so that a change of one setting costs two writes; each period, and after
//! anything went wrong, it looks again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use mesh_model::digest::Digest;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::departures::{self, Departure, departures};
use crate::desired::{Desired, Joined, Said};
use crate::observed::Observed;
use crate::planning::{Target, with_causes};
use crate::roster::Roster;
use crate::steps::{Step, steps};
use crate::world::{World, WorldError};

/// How often the bus is looked at where nothing happens.
pub const PERIOD: Duration = Duration::from_secs(30);
/// The pause before a pass that failed is tried again: first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// How often those that go are looked at.
const GLANCE: Duration = Duration::from_millis(200);
/// How long one that goes stays for the same reason: for as long as a service may take to end, and no longer for a machine
/// that is gone.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How many steps of one phase are taken at the same time.
const AT_ONCE: usize = 32;

/// How the mirror stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// The plan that the bus says in full.
    pub mirrored: Option<Digest>,
    /// Why it does not say the one in effect.
    pub why: Option<String>,
}

/// What wakes the mirror, and where it tells how it stands.
#[derive(Debug)]
pub struct Wires {
    /// The plan in effect.
    pub targets: watch::Receiver<Target>,
    /// Who has joined.
    pub roster: Arc<Roster>,
    /// How it stands.
    pub state: watch::Sender<State>,
    /// How often it looks where nothing happens.
    pub period: Duration,
    /// How long one that goes stays for the same reason.
    pub patience: Duration,
}

/// Mirrors until told to stop. A pass that has begun is finished.
pub async fn run<W: World>(world: &W, wires: Wires, stop: CancellationToken) {
    let Wires { mut targets, roster, state, period, patience } = wires;
    let mut joins = roster.changes();
    let mut observed: Option<Observed> = None;
    let mut pause = BACK_OFF.0;
    let mut look_at = Instant::now() + period;
    let mut patience = Patience { limit: patience, since: BTreeMap::new() };
    while !stop.is_cancelled() {
        let target = targets.borrow_and_update().clone();
        joins.mark_unchanged();
        let joined =
            Joined { nodes: roster.nodes().await.into_keys().collect(), operators: roster.operators().await };
        if let Some(observed) = &mut observed {
            // Whoever joins is granted the least by the roster itself.
            observed.granted = roster.granted().await;
        }
        let wait = match pass(world, &target, &joined, &mut observed, &mut patience).await {
            Ok(held_up) => {
                pause = BACK_OFF.0;
                let soon = held_up.is_some().then(|| Instant::now() + GLANCE);
                let why = target.why.or(held_up);
                let mirrored = target.record.map(|record| record.id).filter(|_| why.is_none());
                state.send_replace(State { mirrored, why });
                soon.map_or(look_at, |soon| soon.min(look_at))
            }
            Err(error) => {
                let why = with_causes(&error);
                tracing::error!(error = why, "the plan in effect is not mirrored; trying again");
                state.send_modify(|state| state.why = Some(why));
                observed = None;
                world.distrust().await;
                pause = (pause * 2).min(BACK_OFF.1);
                Instant::now() + pause / 2
            }
        };
        tokio::select! {
            // The senders live as long as the service.
            _ = targets.changed() => {}
            _ = joins.changed() => {}
            () = tokio::time::sleep_until(wait) => observed = observed.filter(|_| Instant::now() < look_at),
            () = stop.cancelled() => {}
        }
        if observed.is_none() {
            look_at = Instant::now() + period;
        }
    }
}

/// One pass: look where nothing is known, then take the steps. Says whom the last of them wait for.
async fn pass<W: World>(
    world: &W,
    target: &Target,
    joined: &Joined,
    observed: &mut Option<Observed>,
    patience: &mut Patience,
) -> Result<Option<String>, WorldError> {
    let observed = match observed {
        Some(observed) => observed,
        None => observed.insert(world.look().await?),
    };
    let desired = Desired::of(target.plan.as_deref(), joined);
    if target.plan.is_none() && target.record.is_some() {
        // What nodes may do follows from a plan that cannot be read now: all stays as it is.
        return Ok(None);
    }
    if let Some(said) = &desired.said {
        let asked = departures::asked(said, observed);
        if !asked.is_empty() {
            observed.learn(world.look_at(&asked).await?);
        }
        patience.spend(said, observed);
    }
    converge(world, &desired, observed).await?;
    let going = desired.said.map(|said| departures(&said, observed)).unwrap_or_default();
    let held_up = going.values().find_map(|departure| match departure {
        Departure::Stays(why) => Some(why.clone()),
        Departure::Release | Departure::Go => None,
    });
    // What was released a moment ago is looked at again.
    let on_the_way = || "what is no longer assigned is being taken back".to_owned();
    Ok(held_up.or_else(|| (!going.is_empty()).then(on_the_way)))
}

/// Since when each of those that go has stayed for the same reason.
#[derive(Debug)]
struct Patience {
    limit: Duration,
    since: BTreeMap<String, (Departure, Instant)>,
}

impl Patience {
    /// Lets those go that have been waited for long enough.
    fn spend(&mut self, said: &Said, observed: &mut Observed) {
        let now = Instant::now();
        let going = departures(said, observed);
        self.since.retain(|key, (departure, _)| going.get(key) == Some(departure));
        observed.overdue.retain(|key| going.contains_key(key));
        for (key, departure) in going {
            let Departure::Stays(why) = &departure else { continue };
            let why = why.clone();
            let (_, since) = self.since.entry(key.clone()).or_insert((departure, now));
            if since.elapsed() >= self.limit {
                tracing::warn!(why, "waited long enough: it is taken back all the same");
                observed.overdue.insert(key);
            }
        }
    }
}

/// Takes the steps from what is observed to what is desired, phase by phase, and notes each.
///
/// # Errors
/// Where a step could not be taken. Those beside it are finished, and no later phase is begun.
pub async fn converge<W: World>(
    world: &W,
    desired: &Desired,
    observed: &mut Observed,
) -> Result<(), WorldError> {
    let steps = steps(desired, observed);
    for phase in steps.chunk_by(|a, b| a.phase() == b.phase()) {
        for at_once in phase.chunks(AT_ONCE) {
            take(world, at_once, observed).await?;
        }
    }
    Ok(())
}

/// Takes steps at the same time; each that was taken is noted, whatever comes of the others.
async fn take<W: World>(world: &W, steps: &[Step], observed: &mut Observed) -> Result<(), WorldError> {
    let mut ended = Ok(());
    for (step, taken) in steps.iter().zip(join_all(steps.iter().map(|step| world.take(step))).await) {
        match taken {
            Ok(()) => {
                tell(step);
                observed.note(step);
            }
            Err(error) => ended = Err(error),
        }
    }
    ended
}

fn tell(step: &Step) {
    match step {
        Step::Keep { digest, .. } => tracing::debug!(digest = digest.short(), "a content is kept"),
        Step::Make(provider) => tracing::info!(%provider, "a provider's bucket is there"),
        Step::Widen(grants) | Step::Narrow(grants) => {
            tracing::debug!(account = %grants.account, "grants are given")
        }
        Step::Set { key, .. } => tracing::info!(module = key.at(), "settings are written"),
        Step::Assign { key, digest, .. } => {
            tracing::info!(module = key.at(), digest = digest.short(), "an assignment is written");
        }
        Step::Release { key, .. } => tracing::info!(key, "a provider that goes has no consumers any more"),
        Step::Unassign(key) => tracing::info!(key, "an assignment is taken back"),
        Step::Unset(key) => tracing::info!(key, "settings are taken back"),
        Step::Prune(bucket, key) => tracing::warn!(%bucket, key, "no plan knows this key: it is pruned"),
    }
}

#[cfg(test)]
mod tests;

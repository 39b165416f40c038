//! The seat on the bus: the verbs, the mirror, and the lease that both hang from.
//!
//! Start at [`run`]. While it does not hold the seat, it answers and writes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mesh_bus::account::Usage;
use mesh_bus::seat::{Held, Lease, Terms};
use mesh_bus::verb::ServeError;
use mesh_bus::{Bucket, Mirror};
use mesh_model::name::{NodeName, SeatName};
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::contents::Contents;
use crate::mirror::{self, Wires};
use crate::planning::{Planning, with_causes};
use crate::verbs::{self, Office};
use crate::world::BusWorld;

/// The pause before the plan in effect is read again, where it could not be.
const RETRY: Duration = Duration::from_millis(500);

/// Why the service ended before it was told to.
#[derive(Debug, Error)]
pub enum RunError {
    /// A verb cannot be offered.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Holds the seat until told to stop. Questions that are being answered, and a pass of the mirror that has begun, are
/// finished.
///
/// # Errors
/// Where the bus does not let a verb be offered.
pub async fn run(config: Config, shutdown: CancellationToken) -> Result<(), RunError> {
    let seat: SeatName = "mesh-controller".parse().expect("it is a name");
    let terms =
        Terms { seat: seat.clone(), node: config.node.clone(), lease: config.lease, clock: config.clock };
    let lease = tokio::select! {
        lease = Lease::take(&config.bus, terms) => lease,
        () = shutdown.cancelled() => return Ok(()),
    };
    let mut held = lease.held();
    let ended = loop {
        tokio::select! {
            // The sender lives as long as the lease.
            _ = held.wait_for(|held| *held) => {}
            () = shutdown.cancelled() => break Ok(()),
        }
        let away = CancellationToken::new();
        let watch = async {
            tokio::select! {
                _ = held.wait_for(|held| !*held) => {}
                () = shutdown.cancelled() => {}
            }
            away.cancel();
        };
        let (ended, ()) = tokio::join!(hold(&config, &seat, &away), watch);
        if ended.is_err() || shutdown.is_cancelled() {
            break ended;
        }
        tracing::warn!(%seat, "the seat is not held any more");
    };
    lease.release().await;
    ended
}

/// What the seat does while it is held. What another holder may have written meanwhile is read anew.
async fn hold(config: &Config, seat: &SeatName, away: &CancellationToken) -> Result<(), RunError> {
    let contents = Arc::new(Contents::new(&config.bus));
    let roster = Arc::clone(&config.roster);
    let planning = Planning::new(
        &config.bus,
        Arc::clone(&contents),
        Arc::clone(&roster),
        config.catalog.clone(),
        config.clock,
    );
    let planning = Arc::new(planning);
    let seats = Mirror::open(&config.bus, Bucket::seats(), ">", Usage::read());
    tokio::select! {
        () = begin(&planning, &seats) => {}
        () = away.cancelled() => return Ok(()),
    }
    match planning.sweep(&config.bus).await {
        Ok(0) => {}
        Ok(swept) => tracing::info!(swept, "keys that no plan needs were swept out"),
        Err(error) => {
            tracing::warn!(error = with_causes(&error), "what no plan needs is left for another start")
        }
    }
    roster.forget_granted().await;
    let (tell, state) = watch::channel(mirror::State::default());
    let world = BusWorld::new(config.bus.clone(), Arc::clone(&contents), Arc::clone(&roster));
    let wires = Wires {
        targets: planning.targets(),
        roster: Arc::clone(&roster),
        state: tell,
        period: config.period,
    };
    let office = Arc::new(Office { contents, planning: Arc::clone(&planning), roster, state });
    let service = verbs::offer(&config.bus, seat, &office).await.inspect_err(|_| away.cancel())?;
    // Questions first: what they let take effect is mirrored before the mirror ends.
    let stop = CancellationToken::new();
    let drain = async {
        away.cancelled().await;
        service.stop().await;
        stop.cancel();
    };
    let follow = async {
        tokio::select! {
            () = follow_seats(&planning, seats) => {}
            () = stop.cancelled() => {}
        }
    };
    tokio::join!(mirror::run(&world, wires, stop.clone()), follow, drain);
    Ok(())
}

/// Reads who holds which seat, and the plan in effect, however long that takes.
async fn begin(planning: &Planning, seats: &Mirror) {
    seats.ready().await;
    planning.note_seats(holders(seats)).await;
    while let Err(error) = planning.load().await {
        tracing::error!(error = with_causes(&error), "cannot read the plan in effect; trying again");
        tokio::time::sleep(RETRY).await;
    }
}

async fn follow_seats(planning: &Planning, mut seats: Mirror) {
    loop {
        planning.note_seats(holders(&seats)).await;
        seats.changed().await;
    }
}

fn holders(seats: &Mirror) -> BTreeMap<SeatName, NodeName> {
    let held = seats.snapshot();
    let holder = |(key, entry): (&String, &mesh_bus::kv::Entry)| {
        let held: Held = serde_json::from_slice(&entry.value).ok()?;
        Some((key.parse().ok()?, held.node))
    };
    held.iter().filter_map(holder).collect()
}

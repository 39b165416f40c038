//! The seat on the bus: the verbs, the mirror, and the seat that both hang from.
//!
//! Start at [`run`]. While it does not hold the seat, it answers and writes nothing.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mesh_bus::account::Usage;
use mesh_bus::seat::{self, FenceError, Held, Tenure, Terms};
use mesh_bus::verb::ServeError;
use mesh_bus::{Bucket, Mirror, bucket};
use mesh_model::name::{NodeName, SeatName};
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::contents::Contents;
use crate::mirror::{self, Wires};
use crate::planning::{Planning, with_causes};
use crate::roster::Roster;
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

/// Holds the seat until told to stop, or stands by until it may. Questions that are being answered, and a pass of the mirror that
/// has begun, are finished.
///
/// # Errors
/// Where the bus does not let a verb be offered.
pub async fn run(config: Config, shutdown: CancellationToken) -> Result<(), RunError> {
    let seat: SeatName = "mesh-controller".parse().expect("it is a name");
    let terms = Terms { seat, node: config.node.clone(), lease: config.lease, clock: config.clock };
    seat::hold(&config.bus, terms, &written(), &shutdown, |tenure| hold(&config, tenure)).await
}

/// The buckets that the seat writes, beside those of providers, which come and go.
fn written() -> Vec<Bucket> {
    vec![
        Bucket::plan(),
        Bucket::assignments(),
        Bucket::config(),
        Bucket::files(),
        Bucket::roster(),
        Bucket::needs(),
        Bucket::applied(),
        Bucket::collect(),
    ]
}

/// What the seat does while it is held. What another holder may have written meanwhile is read anew.
async fn hold(config: &Config, tenure: Tenure) -> Result<(), RunError> {
    let seat: SeatName = "mesh-controller".parse().expect("it is a name");
    let contents = Arc::new(Contents::new(&tenure));
    let roster = Arc::clone(&config.roster);
    let planning = Planning::new(
        &tenure,
        Arc::clone(&contents),
        Arc::clone(&roster),
        config.catalog.clone(),
        config.clock,
    );
    let planning = Arc::new(planning);
    let seats = Mirror::open(&config.bus, Bucket::seats(), ">", Usage::read());
    tokio::select! {
        () = begin(&tenure, &planning, &roster, &seats) => {}
        () = tenure.over().cancelled() => return Ok(()),
    }
    match planning.sweep(&tenure).await {
        Ok(0) => {}
        Ok(swept) => tracing::info!(swept, "keys that no plan needs were swept out"),
        Err(error) => {
            tracing::warn!(error = with_causes(&error), "what no plan needs is left for another start")
        }
    }
    roster.forget_granted().await;
    let (tell, state) = watch::channel(mirror::State::default());
    let world = BusWorld::new(&tenure, Arc::clone(&contents), Arc::clone(&roster));
    let wires = Wires {
        targets: planning.targets(),
        roster: Arc::clone(&roster),
        state: tell,
        period: config.period,
        patience: config.patience,
    };
    let entrance = config.entrance.clone();
    let office = Arc::new(Office { contents, planning: Arc::clone(&planning), roster, entrance, state });
    let service = verbs::offer(&tenure, &seat, &office).await?;
    // Questions first: what they let take effect is mirrored before the mirror ends.
    let stop = CancellationToken::new();
    let drain = async {
        tenure.over().cancelled().await;
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

/// Reads who has joined, who holds which seat, and the plan in effect, however long that takes.
async fn begin(tenure: &Tenure, planning: &Planning, roster: &Roster, seats: &Mirror) {
    while let Err(error) = fence_providers(tenure).await {
        tracing::error!(
            error = &error as &dyn Error,
            "the buckets of providers cannot be fenced; trying again"
        );
        tokio::time::sleep(RETRY).await;
    }
    roster.take(tenure);
    while let Err(error) = roster.load().await {
        tracing::error!(error = with_causes(&error), "cannot read who has joined; trying again");
        tokio::time::sleep(RETRY).await;
    }
    seats.ready().await;
    planning.note_seats(holders(seats)).await;
    while let Err(error) = planning.load().await {
        tracing::error!(error = with_causes(&error), "cannot read the plan in effect; trying again");
        tokio::time::sleep(RETRY).await;
    }
}

/// Who held the seat before prunes nothing of what providers have answered any more.
async fn fence_providers(tenure: &Tenure) -> Result<(), FenceError> {
    let failed = |source| FenceError::Bucket { bucket: "the buckets of providers".to_owned(), source };
    for bucket in bucket::bound(tenure.bus()).await.map_err(failed)? {
        tenure.raise(&bucket).await?;
    }
    Ok(())
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
        // Who gave it up is where it was last: somebody will have it in a moment.
        Some((key.parse().ok()?, held.node))
    };
    held.iter().filter_map(holder).collect()
}

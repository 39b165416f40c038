//! The node's main loop: whatever wakes it, it looks at everything and does what is missing.
//!
//! At a start without the bus it runs what it has kept, and takes up the bus when it comes.
//!
//! What runs here comes from the assignments, and what it came to is told in `applied`. One module that fails holds up no
//! other. What is no longer assigned is taken back first: its services end, its files go, and last its entry in
//! `applied`, so that whoever reads that it is gone can rely on it.

mod desk;
pub(crate) mod facts;
mod kept;
mod withdraw;

use std::path::PathBuf;
use std::time::Duration;

use mesh_bus::verb::AskError;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::host;
use desk::Desk;

/// How often a node looks at everything though nothing woke it.
const ROUND: Duration = Duration::from_secs(30);
/// How often the answers files are looked at.
const GLANCE: Duration = Duration::from_millis(100);
/// How long services may take together over stopping.
const STOP_DEADLINE: Duration = Duration::from_secs(30);
/// How long the bus and the vault are waited for at a start, before what is kept is run without them.
const PATIENCE: Duration = Duration::from_secs(2);
/// How soon to look again for what nobody will tell of: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(25), Duration::from_secs(5));

/// Why a node cannot run.
#[derive(Debug, Error)]
pub enum Error {
    /// Its host could not be started.
    #[error("the services of this machine cannot be run")]
    Host(#[source] host::Error),
    /// It cannot be said how old a credential may be.
    #[error(
        "cannot read {}, which says how old a credential may be; without that file the node starts, and could accept \
         once what was taken back before", path.display()
    )]
    Seen {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The vault does not take its sealing key.
    #[error("the vault does not take the sealing key of node {node}")]
    Pin {
        /// The node.
        node: String,
        /// Why not.
        #[source]
        source: AskError,
    },
}

/// Runs a node until it is told to stop.
///
/// # Errors
/// Where it cannot be started. What goes wrong later is told in `applied` and tried again.
pub async fn run(config: Config, shutdown: CancellationToken) -> Result<(), Error> {
    let mut desk = Desk::open(config).await?;
    let outcome = tokio::select! {
        outcome = work(&mut desk) => outcome,
        () = shutdown.cancelled() => Ok(()),
    };
    desk.close(STOP_DEADLINE).await;
    outcome
}

/// What woke the loop.
enum Event {
    /// Something that concerns the node has changed, or a round is over, or something is looked for again.
    Look,
    /// A service has changed.
    Services,
    /// It is time to look at the answers files.
    Glance,
}

async fn work(desk: &mut Desk) -> Result<(), Error> {
    match tokio::time::timeout(PATIENCE, desk.settle_in()).await {
        Ok(settled) => settled?,
        Err(_) => {
            desk.boot().await;
            desk.settle_in().await?;
        }
    }
    let mut round = tokio::time::interval(ROUND);
    let mut glance = tokio::time::interval(GLANCE);
    glance.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut states = desk.states();
    let mut again = AGAIN.0;
    loop {
        let event = tokio::select! {
            () = desk.woken() => { again = AGAIN.0; Event::Look }
            _ = round.tick() => { desk.look_again(); Event::Look }
            Ok(()) = states.changed() => Event::Services,
            _ = glance.tick(), if desk.provides() => Event::Glance,
            () = tokio::time::sleep(again), if desk.wants_again() => { again = (again * 2).min(AGAIN.1); Event::Look }
        };
        match event {
            Event::Look => desk.look().await,
            Event::Services => desk.tell_all().await,
            Event::Glance => desk.glance().await,
        }
    }
}

//! Whether targets can be reached, where somebody would go elsewhere if not.
//!
//! A target that has siblings is looked at each second, and so is one that is down. One that is alone is found out by the
//! requests that go to it: there is nowhere else to send them.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::connect::reach;
use crate::route::Route;
use crate::target::{Reached, Target};
use crate::worker::Shared;

/// How often a target is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// How long it may take to be reached: with the time between two looks, a dead one is out within two seconds.
const LIMIT: Duration = Duration::from_millis(900);

/// How many are looked at at once.
const AT_ONCE: usize = 256;

/// Looks, for ever.
pub(crate) async fn watch(shared: Arc<Shared>) {
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        round(&shared).await;
    }
}

async fn round(shared: &Shared) {
    let table = shared.table.load_full();
    let mut looking = JoinSet::new();
    for route in table.routes() {
        for target in &route.targets {
            if route.targets.len() > 1 || target.is_down() {
                if looking.len() >= AT_ONCE {
                    looking.join_next().await;
                }
                looking.spawn(look(route.clone(), target.clone()));
            }
        }
    }
    while looking.join_next().await.is_some() {}
}

async fn look(route: Arc<Route>, target: Arc<Target>) {
    match reach(&target, LIMIT).await {
        Ok(_) => {
            if target.reached(Reached::Yes) {
                tracing::info!("{route}: {} is up", target.spec());
            }
        }
        Err(unreached) => {
            if target.reached(Reached::No) {
                tracing::warn!("{route}: {} is down: {}", target.spec(), unreached.text());
            }
        }
    }
}

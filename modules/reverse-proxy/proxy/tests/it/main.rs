//! The proxy, for real: sockets, files, targets that misbehave, clients that do.
//!
//! Start at [`stage::Stage`].

#![allow(clippy::unwrap_used, reason = "a test fails where it cannot")]

mod balance;
mod client;
mod hostile;
mod http2;
mod passing;
mod program;
mod served;
mod slow;
mod stage;
mod stop;
mod target;
mod tunnel;

use std::time::{Duration, Instant};

/// How long anything may take on a machine that others use too.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until there is something, and says what was missing where it does not come.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

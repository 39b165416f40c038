//! `mesh up` of `examples/quickstart`, for real: the program, its bus, PostgreSQL, the application, and what they do when
//! one of them is killed, changed or taken out.
//!
//! Start at [`home::Home`]. The tests take turns: each keeps a whole mesh running, and times how soon it is well again.

mod access;
mod beside;
mod browser;
mod buckets;
mod changed;
mod database;
mod departed;
mod foreground;
pub(crate) mod home;
mod kept;
mod killed;
mod leaks;
mod needs;
mod object_store;
mod operators;
pub(crate) mod processes;
mod rotated;
mod troubled;
mod watcher;
mod withdrawn;

use std::time::{Duration, Instant};

/// How long anything may take on a machine that others use too.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until there is something, and says what was missing where it does not come.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(25));
    }
}

//! The seat, on a real bus: what takes effect, what does not, and what each node may read of it.
#![allow(missing_docs, reason = "a test's name says what it shows")]

mod apply;
mod control;
mod departures;
mod grants;
mod hand_over;
mod restarts;

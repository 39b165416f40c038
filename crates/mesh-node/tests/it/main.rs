//! The host with real processes: shells below real shims, killed as users and kernels kill them.

#![allow(clippy::unwrap_used, reason = "tests alone live here, and their helpers fail as they do")]

mod bench;
mod boots;
mod contained;
mod postgres;
mod refused;
mod supervised;

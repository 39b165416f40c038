//! The host with real processes: shells below real shims, killed as users and kernels kill them.

mod bench;
mod contained;
mod postgres;
mod refused;
mod supervised;

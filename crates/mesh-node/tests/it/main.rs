//! The host with real processes: shells below real shims, killed as users and kernels kill them.

mod bench;
mod contained;
mod refused;
mod supervised;

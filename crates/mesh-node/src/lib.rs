//! The client and the host of one machine.

pub mod files;
pub mod host;
mod processes;
pub mod shim;
pub mod users;

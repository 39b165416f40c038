//! Separate hosts on one machine, as network namespaces: for tests, the demo, measurements. Ships with nothing.
//!
//! Start at [`Network`]: a switch with hosts on it, each with an address and a folder of its own. A [`Host`] runs programs,
//! is cut off and brought back, is stopped and goes on, loses its power. What a host runs is found by its namespace, so
//! that nothing is left when it goes, however it was started. [`require`] is for tests: hosts where they may be made, a
//! loud word where not.
//!
//! It knows next to nothing of mesh: which programs run where is for whoever uses it.

mod host;
mod ip;
mod left_over;
mod network;
mod process;
mod programs;
mod require;

pub use host::{Host, Ran};
pub use ip::Error;
pub use network::Network;
pub use process::Process;
pub use programs::Programs;
pub use require::require;

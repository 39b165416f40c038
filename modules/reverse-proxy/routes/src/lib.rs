//! What a consumers file of routes asks for: which names and paths, with which targets, and who may have them.
//!
//! Reading order: [`host`] and [`path`] (what a route is found by), [`claim`] (what one consumer asks for), [`decide`] (who
//! gets what, and who is told why not). It is pure: whoever serves the routes, the proxy or another one through an adapter,
//! brings the file and the answers, and decides by the same rules.

pub mod claim;
pub mod decide;
pub mod host;
pub mod path;

pub use claim::{Address, Claim, Scheme, Target};
pub use decide::{Holder, Refused, Route, Routes, decide};
pub use host::{Authority, HostName};
pub use path::PathPrefix;

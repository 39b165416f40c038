//! The crate, against a real server.

mod attacks;
mod buckets;
mod identities;
mod restarts;
mod seats;
mod servers;
mod verbs;

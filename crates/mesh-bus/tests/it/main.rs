//! The crate, against a real server.
#![allow(clippy::unwrap_used, reason = "all of it is tests, and their helpers")]
#![allow(clippy::disallowed_methods, reason = "a test's own files need no care")]

mod attacks;
mod buckets;
mod identities;
mod journals;
mod restarts;
mod seats;
mod servers;
mod table;
mod tls;
mod verbs;

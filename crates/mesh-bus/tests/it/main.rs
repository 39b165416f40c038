//! The crate, against a real server.
#![allow(missing_docs, reason = "a test's name says what it shows")]

mod buckets;

//! The seat, on a real bus.
#![allow(missing_docs, reason = "a test's name says what it shows")]

mod service;

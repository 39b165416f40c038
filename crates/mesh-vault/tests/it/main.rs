//! The vault on a real bus: what nodes and operators are answered, and what survives.

#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

mod escrow;
mod home;
mod model;
mod service;
mod standby;

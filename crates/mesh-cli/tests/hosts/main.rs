//! The real program on separate hosts: network namespaces of this machine, each with an address and a state folder.
//!
//! They need root. Where namespaces may not be made, each test says loudly that it tried nothing, and fails where
//! `MESH_REQUIRE_HOSTS` is 1. The tests take turns: each runs a whole mesh, and times how soon it is well again.

#![allow(clippy::unwrap_used, reason = "these are tests, what they share too")]

mod home;
mod up;

//! The real program, run in temporary folders: what it prints, where, and how it ends.
//!
//! The snapshots read as a manual: `help.snap` is what each command says of itself, `errors.snap` what goes wrong without a
//! bus. [`on_a_bus`] runs the seats in this process, on a real bus. What needs running nodes is tried with `mesh up`.

#![allow(clippy::unwrap_used, reason = "these are tests, what they share too")]

mod descriptions;
mod errors;
mod escrow;
mod help;
mod logs;
mod on_a_bus;
mod plane;
mod program;
mod quickstart;
mod several;

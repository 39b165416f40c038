//! What the command shares with its own tests: reading a description from a folder, and refusals as people see them.
//!
//! The command itself is in `main.rs`.

pub mod description;
pub mod refusals;

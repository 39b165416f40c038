//! Planning, from files to what comes of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod case;
mod cases;
mod pages;
mod properties;
mod quickstart;

//! The vault: makes a secret, seals it to the machines that may read it, signs it, and forgets it.
//!
//! What it keeps is sealed, so it cannot read what it keeps. It looks at what the assignments call
//! for ([`assigned`], [`rules`]), compares that with what it has ([`store`]), and takes the steps that
//! are missing ([`plan`], pure; [`apply`], with effects). What is made is sealed to [`escrow`] recipients too. What others may
//! notice of it is a [`record`]: ids and versions. What it keeps goes to a log on the bus first, which a vault that stands by
//! follows (`follow`), and can be put into a file ([`backup`]). [`vault`] holds that together, [`answer`] answers its verbs, and
//! [`service`] puts it on the bus.
//!
//! It never opens anything, never decides who runs where, and never makes again what still serves: a
//! running database must not be handed a password that it was not started with.

pub mod answer;
pub mod apply;
pub mod assigned;
pub mod backup;
pub mod config;
pub mod credential;
pub mod escrow;
mod follow;
pub mod plan;
mod planned;
mod publish;
pub mod record;
pub mod rotation;
pub mod rules;
pub mod service;
pub mod signing;
pub mod store;
pub mod vault;

#[cfg(test)]
mod fixture;

pub use config::Config;
pub use service::{ServiceError, run};

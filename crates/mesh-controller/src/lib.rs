//! The seat that plans what runs where, and lets it take effect.
//!
//! Reading order: [`contents`] (what operators hand over), [`planning`] (a description becomes the plan in effect, by
//! compare-and-set, or is refused), then the mirror, which has the bus say what the plan says: [`desired`] with [`reach`]
//! (rules), [`steps`] (pure, from what is [`observed`]; what goes, in the order of [`departures`]), [`world`] (the bus), [`mirror`] (again and again). [`roster`]
//! knows who has joined. [`service`] puts them on the bus, with the verbs.
//!
//! It never touches a machine and never sees a secret.

pub mod config;
pub mod contents;
pub mod departures;
pub mod desired;
#[cfg(test)]
mod fixture;
pub mod mirror;
pub mod observed;
pub mod planning;
pub mod reach;
pub mod roster;
pub mod service;
pub mod steps;
mod verbs;
pub mod world;

pub use config::Config;
pub use roster::{Entrance, Roster};
pub use service::run;

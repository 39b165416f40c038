//! The client and the host of one machine.
//!
//! Start at [`service::run`], the loop of a node. Reading order: [`client`] (from an assignment to files and services, pure
//! but for one trait), [`bus`] (that trait on the real bus), [`answers`] (what provisioners answer), [`files`] (written all
//! or none), [`host`] (services kept up), [`shim`] (services that never outlive the node), [`identity`] (the node's keys).
//!
//! A node decides nothing: what it is to do stands in its assignments.

pub mod answers;
pub mod bus;
pub mod client;
pub mod config;
pub mod files;
pub mod host;
pub mod identity;
mod processes;
pub mod service;
pub mod shim;
pub mod users;

pub use service::facts::facts;

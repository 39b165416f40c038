//! The client: from an assignment to files and services that are as it says, and the telling of what came of it.
//!
//! The order of things is the order of the modules: [`references`] (what an assignment asks for), [`lookup`] (where the
//! registry says that it is found), [`inputs`] (what was found there), [`resolve`] (what each placeholder stands for, or
//! why it waits), [`render`] (files and services, whole), [`report`] (what is told of it), [`carry`] (a provisioner's
//! answers to the bus). All of these are pure but `inputs`, which asks the [`world`]; [`pass`] puts them in a row for one
//! module.
//!
//! A client decides nothing: what runs where, which credential, which provider, all stand in the assignment.

pub mod carry;
pub mod consumers;
#[cfg(test)]
pub(crate) mod fixture;
pub mod inputs;
pub mod lookup;
pub mod opener;
pub mod pass;
pub mod references;
pub mod render;
pub mod report;
pub mod resolve;
pub mod world;

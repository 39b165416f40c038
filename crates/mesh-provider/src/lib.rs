//! For provisioners: the two files, the poll, and reconcile.
//!
//! A provisioner stands beside a server and makes it accept exactly what the mesh delivered. It reads one file and
//! answers in another, and both shapes are in `contracts.md` §6. This crate is what any such program in Rust
//! shares, so that what is left to write is one implementation of [`Server`].
//!
//! Reading order: [`consumers`] (what is wanted), [`answers`] (what came of it), [`watch`] (when to look again),
//! [`reconcile`] (the loop and the trait). It knows no server, no bus and no placeholder.

pub mod answers;
mod backoff;
pub mod consumers;
pub mod reconcile;
pub mod watch;

pub use answers::{Answer, Outcome};
pub use consumers::{Consumer, ConsumerId, Consumers, Contribution, Credential};
/// A secret field of a credential.
pub use mesh_seal::Secret;
pub use reconcile::{Job, Replies, Server, Verdict, once, watch};

//! All that knows NATS: accounts, grants, buckets, watches, verbs, seats, and the server itself.
//!
//! Reading order: [`account`] (who somebody is), [`grants`] (what they may), [`authority`], [`jwt`] and
//! [`creds`] (how the server learns both), [`tls`] (whose word a server's certificate is), [`server`] (the
//! nats-server beside us), [`address`] and [`client`] (a connection), [`accounts`] (grants that take effect),
//! [`invitation`] (how somebody comes to an account), then what is done with a connection: [`bucket`], [`kv`],
//! [`mirror`], [`verb`], [`seat`], [`journal`].
//!
//! Nothing here decides who runs what, knows what a secret says, or acts on a value.

pub mod account;
pub mod accounts;
pub mod address;
pub mod authority;
mod batch;
pub mod bucket;
pub mod client;
pub mod creds;
pub mod grants;
pub mod invitation;
pub mod journal;
pub mod jwt;
pub mod keep;
pub mod kv;
pub mod mirror;
pub mod seat;
pub mod server;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tls;
pub mod verb;

pub use account::Account;
pub use address::Address;
pub use authority::Authority;
pub use bucket::Bucket;
pub use client::{Bus, FirstTry};
pub use creds::{Creds, UserKey};
pub use invitation::Invitation;
pub use journal::Journal;
pub use kv::Kv;
pub use mirror::Mirror;
pub use server::Server;

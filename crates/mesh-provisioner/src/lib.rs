//! The seat that knows which domain answers which kind, and tells who needs what.
//!
//! Reading order: [`registry`] (the table, compiled in, and what to do where the bus says otherwise), [`provisioning`]
//! (what its verb answers, pure), [`config`] and [`service`] (the two on the bus).
//!
//! It decides nothing and knows no secret. It writes the registry and nothing else.

pub mod config;
pub mod provisioning;
pub mod registry;
pub mod service;

pub use config::Config;
pub use service::run;

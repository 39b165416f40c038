//! The nouns of mesh, without any IO: what things are called, how they are written down, and what is wrong with them.
//!
//! Reading order: [`name`] (what anything may be called), [`key`] (how names become keys of a bucket), [`kind`] and
//! [`placeholder`] (what `${…}` means), [`filter`] (how a value is written into a file), [`refusal`] (bad news about
//! what somebody wrote), [`wire`] (every value that travels on the bus).
//!
//! This crate knows no clock, no randomness, no network and no filesystem.

pub mod causes;
pub mod digest;
pub mod filter;
pub mod key;
pub mod kind;
pub mod name;
pub mod placeholder;
pub mod refusal;
pub mod wire;

//! Secrets, and everything that is done to one: made, sealed, signed, opened, compared.
//!
//! Start at [`Secret`]; then [`SigningKey::seal_for`] and [`Sealed::open`], the two ends of a secret's
//! way from the vault to one node. Reading order: `secret`, `generate`, `sealing`, `signing`,
//! `sealed`, `fields`, `digest`; `passphrase` is for what people carry.
//!
//! Here is no async runtime, no network and no file. This crate does not know who may have what:
//! names are plain text here, because it signs whatever it is told to; the vault decides.

mod digest;
mod fields;
mod generate;
mod passphrase;
mod sealed;
mod sealing;
mod secret;
mod signing;

pub use digest::{DigestKey, KeyedDigest};
pub use fields::{Fields, FieldsError};
pub use generate::{Alphabet, LENGTHS, NoRandomness, Randomness, SystemRandom, random_id, secret};
pub use passphrase::{LockError, UnlockError, is_locked, lock, unlock};
pub use sealed::{EnvelopeError, Expect, Label, OpenError, Sealed};
pub use sealing::{Ciphertext, Recipient, SealError, SealingKey, UnsealError, seal};
pub use secret::Secret;
pub use signing::{KeyId, SigningKey, VerifyingKey};

/// A text that was to be a key (or another value of this crate) and is not. The text itself is left
/// out of it: it may be half of a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not {expected}")]
pub struct ParseError {
    /// What was expected, as an error message would say it: "a recipient key (age1…)".
    pub expected: &'static str,
}

impl ParseError {
    const fn expected(expected: &'static str) -> Self {
        Self { expected }
    }
}

//! Making secrets and ids out of randomness.
//!
//! Every character of an alphabet is equally likely: a random byte that would favour some of them is
//! thrown away and another is taken, instead of being folded by a remainder.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::Secret;

/// How long a made secret may be, in characters.
pub const LENGTHS: RangeInclusive<usize> = 16..=256;

/// The characters that a made secret consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alphabet {
    /// `A-Z a-z 0-9`
    #[default]
    Alphanumeric,
    /// `0-9 a-f`
    Hex,
    /// `A-Z a-z 0-9 - _`
    Base64url,
}

impl Alphabet {
    /// Its characters, each once, all ASCII.
    pub const fn characters(self) -> &'static [u8] {
        match self {
            Self::Alphanumeric => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            Self::Hex => b"0123456789abcdef",
            Self::Base64url => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        }
    }
}

/// Where random bytes come from.
pub trait Randomness {
    /// Overwrites all of `bytes` with random ones.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), NoRandomness>;
}

/// The operating system's randomness, fit for keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Randomness for SystemRandom {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        getrandom::fill(bytes).map_err(|source| NoRandomness::System { source })
    }
}

/// No secret could be made.
#[derive(Debug, thiserror::Error)]
pub enum NoRandomness {
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes")]
    System {
        /// What it said.
        source: getrandom::Error,
    },
    /// The length is outside of [`LENGTHS`].
    #[error("a secret of {length} characters was asked for, and it must have 16 to 256")]
    Length {
        /// The length asked for.
        length: usize,
    },
}

/// Makes a secret of `length` characters, each of `alphabet`, each equally likely.
pub fn secret(
    random: &mut dyn Randomness,
    length: usize,
    alphabet: Alphabet,
) -> Result<Secret, NoRandomness> {
    if !LENGTHS.contains(&length) {
        return Err(NoRandomness::Length { length });
    }
    let characters = alphabet.characters();
    // The largest multiple of the alphabet's size that fits a byte: what is above would favour its start.
    let fair = 256 - 256 % characters.len();
    let mut made = Zeroizing::new(Vec::with_capacity(length));
    let mut drawn = Zeroizing::new([0u8; 64]);
    while made.len() < length {
        random.fill(&mut *drawn)?;
        let fresh = drawn.iter().map(|&byte| usize::from(byte)).filter(|&byte| byte < fair);
        let missing = length - made.len();
        made.extend(fresh.take(missing).map(|byte| characters[byte % characters.len()]));
    }
    Ok(Secret::from_wiped(made))
}

/// Makes an id of 16 lower-case hexadecimal characters. It says nothing about what it names.
pub fn random_id(random: &mut dyn Randomness) -> Result<String, NoRandomness> {
    let mut bytes = [0u8; 8];
    random.fill(&mut bytes)?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

#[cfg(test)]
mod tests;

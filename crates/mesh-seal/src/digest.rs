//! Keyed digests: whether a secret (or a rendered file that holds one) is the same as before, without
//! keeping it.
//!
//! The key is what keeps a digest from being guessed back: without it, everybody who sees a digest of
//! a short secret could try all of them. So a digest may be shown on the bus, its key never.

use std::fmt;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{NoRandomness, ParseError, Randomness, Secret};

/// The key of one machine's digests (BLAKE3, keyed). Wiped when dropped.
#[derive(Clone)]
pub struct DigestKey(Zeroizing<[u8; 32]>);

impl DigestKey {
    /// Makes a new one.
    pub fn generate(random: &mut dyn Randomness) -> Result<Self, NoRandomness> {
        let mut key = Zeroizing::new([0u8; 32]);
        random.fill(&mut *key)?;
        Ok(Self(key))
    }

    /// 64 hexadecimal characters, to be kept in a file that nobody else reads.
    pub fn to_text(&self) -> Secret {
        let mut text = String::with_capacity(64);
        HEXLOWER.encode_append(&*self.0, &mut text);
        Secret::from(text)
    }

    /// Reads what [`DigestKey::to_text`] wrote; white space around it is passed over.
    pub fn from_text(text: &Secret) -> Result<Self, ParseError> {
        let text = text.expose_text().unwrap_or_default().trim();
        let bytes = HEXLOWER.decode(text.as_bytes()).map(Zeroizing::new).ok();
        let key = bytes.and_then(|bytes| bytes.as_slice().try_into().ok());
        key.map(|key| Self(Zeroizing::new(key))).ok_or(ParseError::expected("a digest key"))
    }

    /// The digest of some bytes.
    pub fn digest(&self, bytes: &[u8]) -> KeyedDigest {
        KeyedDigest(blake3::keyed_hash(&self.0, bytes))
    }

    /// One digest over several parts; moving a byte from one part to the next changes it.
    pub fn digest_all<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) -> KeyedDigest {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        KeyedDigest(hasher.finalize())
    }

    /// Whether two secrets are the same, in a time that does not tell where they differ.
    pub fn are_same(&self, one: &Secret, other: &Secret) -> bool {
        self.digest(one.expose()) == self.digest(other.expose())
    }
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestKey(..)")
    }
}

/// What stands for a secret where the same is to be told from another: 64 hexadecimal characters.
/// Compared in constant time.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyedDigest(blake3::Hash);

impl fmt::Display for KeyedDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl fmt::Debug for KeyedDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyedDigest({self})")
    }
}

impl TryFrom<String> for KeyedDigest {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        let refused = ParseError::expected("a digest (64 hexadecimal characters)");
        let digest = Self(blake3::Hash::from_hex(&text).map_err(|_| refused)?);
        if digest.to_string() == text { Ok(digest) } else { Err(refused) }
    }
}

impl From<KeyedDigest> for String {
    fn from(digest: KeyedDigest) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests;

//! What something says, in 32 bytes: BLAKE3, written as hex.
//!
//! For what is public. What holds a secret is compared by the *keyed* digest of `mesh-seal`, since a plain digest of a
//! short secret can be guessed.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The BLAKE3 digest of some bytes: 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// A text that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a digest: that is 64 lower-case hex digits")]
pub struct NotADigest(String);

impl Digest {
    /// The digest of bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }

    /// The digest of what a value says: of its JSON, so that two equal values have one digest.
    ///
    /// # Panics
    /// Where a value does not serialize, which none of this crate's does.
    #[must_use]
    pub fn of_json<T: Serialize + ?Sized>(value: &T) -> Self {
        Self::of(&serde_json::to_vec(value).expect("plain data serializes"))
    }

    /// The digest as 64 hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits: enough to tell two apart on a screen.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        let hex = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if hex { Ok(Self(text)) } else { Err(NotADigest(text)) }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

//! What something says, in 32 bytes: BLAKE3, written as hex.
//!
//! For what is public. What holds a secret is compared by the *keyed* digest of `mesh-seal`, since a plain digest of a
//! short secret can be guessed.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

/// The BLAKE3 digest of some bytes: 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest(Arc<str>);

/// JSON is written a word at a time, and hashed best in pieces: of so many bytes.
const PIECE: usize = 1024;

/// What is to be hashed, a piece at a time.
struct Pieces {
    hasher: blake3::Hasher,
    piece: [u8; PIECE],
    used: usize,
}

impl Pieces {
    fn hash(&mut self) {
        self.hasher.update(&self.piece[..self.used]);
        self.used = 0;
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.used + bytes.len() > PIECE {
            self.hash();
        }
        if bytes.len() > PIECE {
            self.hasher.update(bytes);
        } else {
            self.piece[self.used..self.used + bytes.len()].copy_from_slice(bytes);
            self.used += bytes.len();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A text that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a digest: that is 64 lower-case hex digits")]
pub struct NotADigest(String);

impl Digest {
    /// The digest of bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().as_str().into())
    }

    /// The digest of what a value says: of its JSON, so that two equal values have one digest.
    ///
    /// # Panics
    /// Where a value does not serialize, which none of this crate's does.
    #[must_use]
    pub fn of_json<T: Serialize + ?Sized>(value: &T) -> Self {
        Self::of_json_and_length(value).0
    }

    /// The same, and how many bytes its JSON has: without ever holding that.
    ///
    /// # Panics
    /// Where a value does not serialize.
    #[must_use]
    pub fn of_json_and_length<T: Serialize + ?Sized>(value: &T) -> (Self, u64) {
        let mut pieces = Pieces { hasher: blake3::Hasher::new(), piece: [0; PIECE], used: 0 };
        serde_json::to_writer(&mut pieces, value).expect("plain data serializes");
        pieces.hash();
        (Self(pieces.hasher.finalize().to_hex().as_str().into()), pieces.hasher.count())
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
        if hex { Ok(Self(text.into())) } else { Err(NotADigest(text)) }
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.0.as_ref().to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

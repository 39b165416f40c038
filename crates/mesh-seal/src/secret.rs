//! The type of everything that nobody may see.
//!
//! It cannot be printed, serialized, compared or copied by accident: the only way to the bytes is
//! [`Secret::expose`], which is easy to look for. To compare two secrets, compare their keyed
//! digests ([`crate::DigestKey`]).

use std::fmt;

use zeroize::Zeroizing;

/// Bytes that are wiped when dropped, and that print as `Secret(..)`.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes over the bytes, without a copy.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    pub(crate) fn from_wiped(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }

    /// The bytes themselves. Whoever calls this answers for where they go.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as text, or `None` where they are no UTF-8.
    pub fn expose_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests;

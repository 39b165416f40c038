//! Who sealed it: the vault's signing key (Ed25519, RFC 8032).
//!
//! A machine learns the [`VerifyingKey`] when it joins, by its fingerprint in the join token
//! ([`KeyId`]), and opens nothing that this key did not sign.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use ed25519_dalek::Signer as _;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{NoRandomness, ParseError, Randomness, Secret};

const PRIVATE: &str = "mesh-signing-key-";
const PUBLIC: &str = "mesh-verifying-key-";

/// The private half. It is wiped when dropped.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// Makes a new one.
    pub fn generate(random: &mut dyn Randomness) -> Result<Self, NoRandomness> {
        let mut seed = Zeroizing::new([0u8; 32]);
        random.fill(&mut *seed)?;
        Ok(Self(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    /// `mesh-signing-key-…`, to be kept in a file that nobody else reads.
    pub fn to_text(&self) -> Secret {
        let mut text = String::with_capacity(PRIVATE.len() + 64);
        text.push_str(PRIVATE);
        HEXLOWER.encode_append(self.0.as_bytes(), &mut text);
        Secret::from(text)
    }

    /// Reads what [`SigningKey::to_text`] wrote; white space around it is passed over.
    pub fn from_text(text: &Secret) -> Result<Self, ParseError> {
        let text = text.expose_text().unwrap_or_default().trim();
        let seed = key_bytes(text, PRIVATE).map(Zeroizing::new);
        let seed = seed.ok_or(ParseError::expected("a signing key (mesh-signing-key-…)"))?;
        Ok(Self(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    /// What others check its signatures with.
    pub fn verifying(&self) -> VerifyingKey {
        VerifyingKey(self.0.verifying_key())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.verifying().id())
    }
}

/// The public half: `mesh-verifying-key-…`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

impl VerifyingKey {
    /// Its fingerprint, for a person or a join token to carry.
    pub fn id(&self) -> KeyId {
        let digest =
            blake3::derive_key("mesh-seal 2026-01-01 verifying key fingerprint v1", self.0.as_bytes());
        KeyId(HEXLOWER.encode(&digest[..16]))
    }

    /// Strictly: a key or a signature that several messages could share is refused.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &ed25519_dalek::Signature::from_bytes(signature)).is_ok()
    }
}

impl FromStr for VerifyingKey {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let key = key_bytes(text, PUBLIC).and_then(|b| ed25519_dalek::VerifyingKey::from_bytes(&b).ok());
        key.map(Self).ok_or(ParseError::expected("a verifying key (mesh-verifying-key-…)"))
    }
}

impl TryFrom<String> for VerifyingKey {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<VerifyingKey> for String {
    fn from(key: VerifyingKey) -> Self {
        key.to_string()
    }
}

impl fmt::Display for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC}{}", HEXLOWER.encode(self.0.as_bytes()))
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({})", self.id())
    }
}

/// A verifying key's fingerprint: 32 lower-case hexadecimal characters, so that nobody finds a second
/// key for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// 32 bytes from `<prefix><64 hexadecimal characters>`.
fn key_bytes(text: &str, prefix: &str) -> Option<[u8; 32]> {
    let decoded = HEXLOWER.decode(text.strip_prefix(prefix)?.as_bytes()).map(Zeroizing::new).ok()?;
    decoded.as_slice().try_into().ok()
}

#[cfg(test)]
mod tests;

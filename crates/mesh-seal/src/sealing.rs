//! Sealing: encrypting to one machine's public key, so that this machine alone can open it.
//!
//! The format is age's (age-encryption.org/v1, X25519), so that a sealed value can be opened with the
//! `age` command and the key file where everything else is gone. Sealing says nothing about who
//! sealed: anybody who knows the public key can. That is what [`crate::Sealed`] adds.

use std::cmp::Ordering;
use std::fmt;
use std::io::{Read, Write};
use std::str::FromStr;

use age::secrecy::ExposeSecret;
use age::x25519;
use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{ParseError, Secret};

/// A machine's private sealing key. It never leaves the machine that made it.
#[derive(Clone)]
pub struct SealingKey(x25519::Identity);

impl SealingKey {
    /// Makes a new one (the randomness is age's own, which takes the operating system's).
    pub fn generate() -> Self {
        Self(x25519::Identity::generate())
    }

    /// `AGE-SECRET-KEY-1…`, to be kept in a file that nobody else reads.
    pub fn to_text(&self) -> Secret {
        Secret::new(self.0.to_string().expose_secret().as_bytes().to_vec())
    }

    /// Reads what [`SealingKey::to_text`] wrote; white space around it is passed over.
    pub fn from_text(text: &Secret) -> Result<Self, ParseError> {
        let text = text.expose_text().unwrap_or_default().trim();
        text.parse().map(Self).map_err(|_| ParseError::expected("a sealing key (AGE-SECRET-KEY-1…)"))
    }

    /// What others seal to.
    pub fn public(&self) -> Recipient {
        Recipient(self.0.to_public())
    }

    /// Opens what was sealed to this key.
    pub fn open(&self, sealed: &Ciphertext) -> Result<Secret, UnsealError> {
        let decryptor = age::Decryptor::new_buffered(&sealed.0[..])?;
        let mut reader = decryptor.decrypt(std::iter::once(&self.0 as _))?;
        // As large as the ciphertext, so that it never grows and leaves an unwiped copy behind.
        let mut plain = Zeroizing::new(Vec::with_capacity(sealed.0.len()));
        reader.read_to_end(&mut plain).map_err(age::DecryptError::from)?;
        Ok(Secret::from_wiped(plain))
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKey(of {})", self.public())
    }
}

/// A machine's public sealing key: `age1…`.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Recipient(x25519::Recipient);

/// By its text, so that a set of them has one order everywhere.
impl Ord for Recipient {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl PartialOrd for Recipient {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for Recipient {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = ParseError::expected("a recipient key (age1…)");
        let key = Self(text.parse().map_err(|_| refused)?);
        // Bech32 is also read in capitals; one key has one spelling here.
        if key.to_string() == text { Ok(key) } else { Err(refused) }
    }
}

impl TryFrom<String> for Recipient {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<Recipient> for String {
    fn from(recipient: Recipient) -> Self {
        recipient.to_string()
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recipient({self})")
    }
}

/// Something sealed, as bytes; base64 in JSON.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ciphertext(Vec<u8>);

impl Ciphertext {
    /// Its bytes: an age file.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl TryFrom<String> for Ciphertext {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        BASE64.decode(text.as_bytes()).map(Self).map_err(|_| ParseError::expected("a sealed value in base64"))
    }
}

impl From<Ciphertext> for String {
    fn from(sealed: Ciphertext) -> Self {
        BASE64.encode(&sealed.0)
    }
}

impl fmt::Debug for Ciphertext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ciphertext({} bytes)", self.0.len())
    }
}

/// Seals to one recipient.
pub fn seal(recipient: &Recipient, plain: &[u8]) -> Result<Ciphertext, SealError> {
    let failed = |source| SealError { recipient: recipient.clone(), source: Box::new(source) };
    let encryptor = age::Encryptor::with_recipients(std::iter::once(&recipient.0 as _)).map_err(failed)?;
    let write = || -> std::io::Result<Vec<u8>> {
        let mut out = Vec::with_capacity(plain.len() + 256);
        let mut writer = encryptor.wrap_output(&mut out)?;
        writer.write_all(plain)?;
        writer.finish()?;
        Ok(out)
    };
    write().map(Ciphertext).map_err(|error| failed(age::EncryptError::Io(error)))
}

/// Something could not be sealed.
#[derive(Debug, thiserror::Error)]
#[error("sealing to {recipient} failed")]
pub struct SealError {
    /// To whom.
    pub recipient: Recipient,
    /// What age said.
    pub source: Box<age::EncryptError>,
}

/// Something sealed could not be opened: it is damaged, or sealed to another key.
#[derive(Debug, thiserror::Error)]
#[error("a sealed value could not be opened")]
pub struct UnsealError {
    /// What age said.
    #[from]
    pub source: age::DecryptError,
}

#[cfg(test)]
mod tests;

//! The envelope: a sealed value that says what it is, for whom, and that the vault said so.
//!
//! Sealing alone would let anybody who knows a machine's public key hand it a value of their own, and
//! a signature over the ciphertext alone would let a true value be handed over in another one's
//! place, or an old one again. So all of the label, the recipient and the ciphertext are signed
//! together, and [`Sealed::open`] compares the label with what was asked for before it opens.

use std::fmt;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use crate::{Ciphertext, ParseError, Recipient, SealError, SealingKey, Secret, SigningKey, UnsealError};
use crate::{VerifyingKey, seal};

/// What a signature is for, before everything else that is signed: so that it can never be taken for
/// a signature over something else.
const DOMAIN: &[u8] = b"mesh sealed value v1";
const VERSION: u8 = 1;

/// What a sealed value is. Plain to read for everyone, and signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The mesh it belongs to.
    pub mesh: String,
    /// The node that it is sealed to.
    pub node: String,
    /// Whose it is: `<node>.<module>`, of the consumer for a credential.
    pub owner: String,
    /// Its name there: a local (`db`), or `secret.<name>` for a module's own.
    pub name: String,
    /// Which credential it is. Random: it says nothing about the secret.
    pub id: String,
    /// How often it was made, this time included. Never given twice for one owner and name.
    pub version: u64,
}

/// A sealed value with its label and the vault's signature.
///
/// In JSON: `{"v":1,"label":{…},"recipient":"age1…","ciphertext":"<base64>","signature":"<base64>"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Sealed {
    /// What it is.
    pub label: Label,
    /// The key that it is sealed to.
    pub recipient: Recipient,
    /// What is sealed.
    pub ciphertext: Ciphertext,
    signature: Signature,
}

/// What a node asked for, and what it has seen before.
#[derive(Debug, Clone, Copy)]
pub struct Expect<'a> {
    /// The mesh that it joined.
    pub mesh: &'a str,
    /// Its own name.
    pub node: &'a str,
    /// As in [`Label::owner`].
    pub owner: &'a str,
    /// As in [`Label::name`].
    pub name: &'a str,
    /// The newest version that it has seen of this, 0 for none: what is older is refused.
    pub at_least_version: u64,
}

/// Why a node did not open what it was handed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nobody signed it, or somebody else did, or it was changed since.
    #[error("{name} of {owner} is not signed by this mesh's vault")]
    NotSigned {
        /// What it says it is: nothing proves that.
        name: String,
        /// Whose it says it is.
        owner: String,
    },
    /// It is for another mesh.
    #[error("this is sealed for the mesh {found}, and this is {expected}")]
    AnotherMesh {
        /// Ours.
        expected: String,
        /// The label's.
        found: String,
    },
    /// It is for another node.
    #[error("this is sealed for the node {found}, and this is {expected}")]
    AnotherNode {
        /// Ours.
        expected: String,
        /// The label's.
        found: String,
    },
    /// It belongs to another module, or to the same on another node.
    #[error("this belongs to {found}, and what was asked for belongs to {expected}")]
    AnotherOwner {
        /// What was asked for.
        expected: String,
        /// The label's.
        found: String,
    },
    /// It is another of the owner's secrets.
    #[error("this is {found} of {owner}, and {expected} was asked for")]
    AnotherName {
        /// Whose.
        owner: String,
        /// What was asked for.
        expected: String,
        /// The label's.
        found: String,
    },
    /// It was true once: a newer one has been seen.
    #[error("{name} of {owner} is version {found}, and version {seen} has been seen already")]
    Older {
        /// Whose.
        owner: String,
        /// Which.
        name: String,
        /// The label's version.
        found: u64,
        /// The newest version seen.
        seen: u64,
    },
    /// It is sealed to a key that this node does not have (any more).
    #[error("{name} of {owner} is sealed to {sealed_to}, and this node's key is {ours}")]
    AnotherKey {
        /// Whose.
        owner: String,
        /// Which.
        name: String,
        /// The envelope's recipient.
        sealed_to: Recipient,
        /// This node's.
        ours: Recipient,
    },
    /// It is signed and for this node, and does not open: it was damaged before it was signed.
    #[error("{name} of {owner} is damaged")]
    Damaged {
        /// Whose.
        owner: String,
        /// Which.
        name: String,
        /// What became of opening it.
        source: UnsealError,
    },
}

impl SigningKey {
    /// Seals a secret to a node's key and signs it.
    pub fn seal_for(
        &self,
        label: Label,
        recipient: &Recipient,
        secret: &Secret,
    ) -> Result<Sealed, SealError> {
        let ciphertext = seal(recipient, secret.expose())?;
        Ok(self.countersign(label, recipient.clone(), ciphertext))
    }

    /// Signs what somebody else sealed, unopened.
    pub fn countersign(&self, label: Label, recipient: Recipient, ciphertext: Ciphertext) -> Sealed {
        let signature = Signature(self.sign(&signed_bytes(&label, &recipient, &ciphertext)));
        Sealed { label, recipient, ciphertext, signature }
    }
}

impl Sealed {
    /// Whether this key signed it, as it is.
    pub fn is_signed_by(&self, signer: &VerifyingKey) -> bool {
        signer.has_signed(&signed_bytes(&self.label, &self.recipient, &self.ciphertext), &self.signature.0)
    }

    /// Opens it, if the vault signed it and it is what was asked for.
    ///
    /// The signature is checked first, so that every other answer is about something true.
    pub fn open(
        &self,
        identity: &SealingKey,
        signer: &VerifyingKey,
        expect: &Expect<'_>,
    ) -> Result<Secret, OpenError> {
        if !self.is_signed_by(signer) {
            return Err(OpenError::NotSigned {
                name: self.label.name.clone(),
                owner: self.label.owner.clone(),
            });
        }
        self.label.is_expected(expect)?;
        let (owner, name) = (self.label.owner.clone(), self.label.name.clone());
        let ours = identity.public();
        if self.recipient != ours {
            return Err(OpenError::AnotherKey { owner, name, sealed_to: self.recipient.clone(), ours });
        }
        identity.open(&self.ciphertext).map_err(|source| OpenError::Damaged { owner, name, source })
    }
}

impl Label {
    fn is_expected(&self, expect: &Expect<'_>) -> Result<(), OpenError> {
        let differs = |expected: &str, found: &str| {
            (expected != found).then(|| (expected.to_owned(), found.to_owned()))
        };
        if let Some((expected, found)) = differs(expect.mesh, &self.mesh) {
            return Err(OpenError::AnotherMesh { expected, found });
        }
        if let Some((expected, found)) = differs(expect.node, &self.node) {
            return Err(OpenError::AnotherNode { expected, found });
        }
        if let Some((expected, found)) = differs(expect.owner, &self.owner) {
            return Err(OpenError::AnotherOwner { expected, found });
        }
        let owner = self.owner.clone();
        if let Some((expected, found)) = differs(expect.name, &self.name) {
            return Err(OpenError::AnotherName { owner, expected, found });
        }
        if self.version < expect.at_least_version {
            let (name, found, seen) = (self.name.clone(), self.version, expect.at_least_version);
            return Err(OpenError::Older { owner, name, found, seen });
        }
        Ok(())
    }
}

/// One sequence of bytes for one envelope: each part behind its length (8 bytes, big-endian), so that
/// no two different envelopes are signed alike.
fn signed_bytes(label: &Label, recipient: &Recipient, ciphertext: &Ciphertext) -> Vec<u8> {
    let Label { mesh, node, owner, name, id, version } = label;
    let version = version.to_be_bytes();
    let recipient = recipient.to_string();
    let digest = blake3::hash(ciphertext.as_bytes());
    let texts = [mesh, node, owner, name, id].map(String::as_bytes);
    let mut bytes = Vec::with_capacity(256);
    let rest = [&version[..], recipient.as_bytes(), digest.as_bytes()];
    for part in [DOMAIN].into_iter().chain(texts).chain(rest) {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

/// A signature, as base64 in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Signature([u8; 64]);

impl TryFrom<String> for Signature {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        let bytes = BASE64.decode(text.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(ParseError::expected("a signature (64 bytes in base64)"))
    }
}

impl From<Signature> for String {
    fn from(signature: Signature) -> Self {
        BASE64.encode(&signature.0)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode(&self.0))
    }
}

/// The envelope as it is written, with its version.
#[derive(Serialize, Deserialize)]
struct Wire {
    v: u8,
    label: Label,
    recipient: Recipient,
    ciphertext: Ciphertext,
    signature: Signature,
}

/// An envelope of a shape that this program does not know.
#[derive(Debug, thiserror::Error)]
#[error("a sealed value of version {found} was met, and this program reads version 1")]
pub struct EnvelopeError {
    /// What its `v` says.
    pub found: u8,
}

impl TryFrom<Wire> for Sealed {
    type Error = EnvelopeError;

    fn try_from(wire: Wire) -> Result<Self, EnvelopeError> {
        let Wire { v, label, recipient, ciphertext, signature } = wire;
        if v != VERSION {
            return Err(EnvelopeError { found: v });
        }
        Ok(Self { label, recipient, ciphertext, signature })
    }
}

impl From<Sealed> for Wire {
    fn from(sealed: Sealed) -> Self {
        let Sealed { label, recipient, ciphertext, signature } = sealed;
        Self { v: VERSION, label, recipient, ciphertext, signature }
    }
}

#[cfg(test)]
mod tests;

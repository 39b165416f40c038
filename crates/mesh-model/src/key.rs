//! How names become the keys of a bucket, and back.
//!
//! A key is tokens joined by dots. What a token cannot hold (all but `A-Z a-z 0-9 - _`), and `=` itself, is written `=` and
//! two upper-case hex digits for each UTF-8 byte. One text has one spelling: what encodes more than it needs is out of
//! shape, so that two keys never mean one thing.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::kind::Kind;
use crate::name::{CollectionName, LocalName, ModuleName, NameError, NodeName, ProvisionName, SecretName};

/// Why a key is out of shape.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    /// A token that is no encoding, or not the shortest one.
    #[error("the token `{0}` is not the one spelling of a text")]
    Token(String),
    /// Another number of tokens than the bucket's keys have.
    #[error("it has {have} parts, where a key of this bucket is {shape}")]
    Parts {
        /// How many there are.
        have: usize,
        /// How a key of this bucket is put together.
        shape: &'static str,
    },
    /// A kind that nobody knows.
    #[error("`{0}` is not a kind")]
    Kind(String),
    /// A part that is not a name.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// Writes a text as a token.
#[must_use]
pub fn encode_token(text: &str) -> String {
    let mut token = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_plain(byte) {
            token.push(char::from(byte));
        } else {
            token.push_str(&format!("={byte:02X}"));
        }
    }
    token
}

/// Reads a token: the text that [`encode_token`] writes as exactly this.
///
/// # Errors
/// Where the token is empty, holds what a token cannot, or spells a text in another way than the one.
pub fn decode_token(token: &str) -> Result<String, KeyError> {
    let wrong = || KeyError::Token(token.to_owned());
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'=' => bytes.push(hex_byte(rest.next(), rest.next()).ok_or_else(wrong)?),
            _ => bytes.push(byte),
        }
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    if text.is_empty() || encode_token(&text) != token { Err(wrong()) } else { Ok(text) }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn hex_byte(high: Option<u8>, low: Option<u8>) -> Option<u8> {
    let digit = |b: u8| char::from(b).to_digit(16);
    u8::try_from(digit(high?)? * 16 + digit(low?)?).ok()
}

/// The tokens of a key, decoded: exactly as many as the shape has.
fn tokens<const N: usize>(key: &str, shape: &'static str) -> Result<[String; N], KeyError> {
    let parts = key.split('.').map(decode_token).collect::<Result<Vec<_>, _>>()?;
    parts.try_into().map_err(|parts: Vec<String>| KeyError::Parts { have: parts.len(), shape })
}

/// A key of the `assignments`, `config` and `applied` buckets: a module on a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleKey {
    /// The node.
    pub node: NodeName,
    /// The module that runs on it.
    pub module: ModuleName,
}

impl ModuleKey {
    /// The same place as people write it: `notes@cellar`.
    #[must_use]
    pub fn at(&self) -> String {
        format!("{}@{}", self.module, self.node)
    }
}

impl fmt::Display for ModuleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.node, self.module)
    }
}

impl FromStr for ModuleKey {
    type Err = KeyError;

    fn from_str(key: &str) -> Result<Self, KeyError> {
        let [node, module] = tokens(key, "<node>.<module>")?;
        Ok(Self { node: node.try_into()?, module: module.try_into()? })
    }
}

/// A key of the `needs` bucket: one thing that a module on a node requires.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NeedKey {
    /// The node.
    pub node: NodeName,
    /// The module that needs it.
    pub module: ModuleName,
    /// What kind of thing it is.
    pub kind: Kind,
    /// What it is called within its kind: the local of a provision, the name of a secret, `notes.http` of an access.
    pub name: String,
}

impl fmt::Display for NeedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.node, self.module, self.kind, encode_token(&self.name))
    }
}

impl FromStr for NeedKey {
    type Err = KeyError;

    fn from_str(key: &str) -> Result<Self, KeyError> {
        let [node, module, kind, name] = tokens(key, "<node>.<module>.<kind>.<name>")?;
        let kind = kind.parse().map_err(|_| KeyError::Kind(kind))?;
        Ok(Self { node: node.try_into()?, module: module.try_into()?, kind, name })
    }
}

/// A key of the `collect` bucket: what one module adds to a collection on its node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectKey {
    /// The node.
    pub node: NodeName,
    /// The collection.
    pub collection: CollectionName,
    /// The module that the items came from.
    pub contributor: ModuleName,
}

impl fmt::Display for CollectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.node, encode_token(self.collection.as_str()), self.contributor)
    }
}

impl FromStr for CollectKey {
    type Err = KeyError;

    fn from_str(key: &str) -> Result<Self, KeyError> {
        let [node, collection, contributor] = tokens(key, "<node>.<collection>.<contributor>")?;
        Ok(Self {
            node: node.try_into()?,
            collection: collection.try_into()?,
            contributor: contributor.try_into()?,
        })
    }
}

/// A key of a `<provider>_bound` bucket: what the provider answered one consumer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoundKey {
    /// The consumer's node.
    pub node: NodeName,
    /// The consumer.
    pub module: ModuleName,
    /// What it needs.
    pub provision: ProvisionName,
    /// The consumer's own name for it.
    pub local: LocalName,
}

impl fmt::Display for BoundKey {
    /// The local is left out where it says the same as the provision.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.node, self.module, self.provision)?;
        if self.local.as_str() == self.provision.as_str() { Ok(()) } else { write!(f, ".{}", self.local) }
    }
}

impl FromStr for BoundKey {
    type Err = KeyError;

    fn from_str(key: &str) -> Result<Self, KeyError> {
        const SHAPE: &str = "<node>.<module>.<provision>[.<local>]";
        let parts = key.split('.').map(decode_token).collect::<Result<Vec<_>, _>>()?;
        let (node, module, provision, local) = match &parts[..] {
            [node, module, provision] => (node, module, provision, provision),
            [_, _, provision, local] if local == provision => return Err(KeyError::Token(local.clone())),
            [node, module, provision, local] => (node, module, provision, local),
            _ => return Err(KeyError::Parts { have: parts.len(), shape: SHAPE }),
        };
        Ok(Self {
            node: node.parse()?,
            module: module.parse()?,
            provision: provision.parse()?,
            local: local.parse()?,
        })
    }
}

/// What the vault keeps under a name: a credential of a need, or a secret of the module's own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Entry {
    /// The credential of the need of this name.
    Need(LocalName),
    /// The module's own secret of this name.
    Own(SecretName),
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Need(local) => write!(f, "{local}"),
            Self::Own(name) => write!(f, "secret.{name}"),
        }
    }
}

impl From<Entry> for String {
    fn from(entry: Entry) -> Self {
        entry.to_string()
    }
}

impl TryFrom<String> for Entry {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl FromStr for Entry {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text.strip_prefix("secret.") {
            Some(name) => Ok(Self::Own(name.parse()?)),
            None => Ok(Self::Need(text.parse()?)),
        }
    }
}

/// A key of the `mesh-vault_credentials` bucket and of the vault's store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CredentialKey {
    /// The consumer's node, or the one that the secret belongs to.
    pub node: NodeName,
    /// The consumer, or the module that the secret belongs to.
    pub module: ModuleName,
    /// Which of its credentials.
    pub entry: Entry,
}

impl fmt::Display for CredentialKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.node, self.module, encode_token(&self.entry.to_string()))
    }
}

impl FromStr for CredentialKey {
    type Err = KeyError;

    fn from_str(key: &str) -> Result<Self, KeyError> {
        let [node, module, entry] =
            tokens(key, "<node>.<module>.<local> or <node>.<module>.secret=2E<name>")?;
        Ok(Self { node: node.try_into()?, module: module.try_into()?, entry: entry.parse()? })
    }
}

#[cfg(test)]
mod tests;

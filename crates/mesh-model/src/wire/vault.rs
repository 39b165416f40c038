//! What operators ask the vault for, and a node that joins: `mesh-vault.list`, `mesh-vault.recipients`, `mesh-vault.put`,
//! `mesh-vault.pin.<node>`. A credential is never in any of them, sealed or not, but for what an operator puts.
//!
//! `R` is a recipient key (`mesh_seal::Recipient`), `K` a verifying key, `C` a ciphertext: this crate does not know how.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CredentialVersion, Provider, RotationTold, V1};
use crate::name::{MeshName, ModuleName, NodeName, SecretName};

/// A node shows its sealing key. Which node stands in the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinAsk<R> {
    /// Its public key.
    pub recipient: R,
}

/// From now on secrets for the node are sealed to this key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinAnswer<R, K> {
    /// The version of this shape.
    pub v: V1,
    /// The node.
    pub node: NodeName,
    /// Its public key.
    pub recipient: R,
    /// The key that the vault signs with: to be compared with the fingerprint that the node joined with.
    pub verifying: K,
}

/// Asks for what the vault has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ListAsk {
    /// Go on behind this: the `next` of the answer before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<String>,
    /// Only the rotations, and no entries.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub rotations_only: bool,
}

/// A page of what the vault has, and of what it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListAnswer<R> {
    /// The version of this shape.
    pub v: V1,
    /// By node, module and name.
    pub entries: Vec<VaultEntry<R>>,
    /// The last rotation of each name, on the first page.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub rotations: Vec<RotationTold>,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// What the vault has under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultEntry<R> {
    /// The consumer's node, or the one that the secret belongs to.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
    /// The local of the need, or `secret.<name>`.
    pub name: String,
    /// Where it comes from.
    pub origin: VaultOrigin,
    /// The provider, for a credential.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<Provider>,
    /// How it is.
    pub state: VaultState,
    /// Why it waits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// The live ones, the newest last.
    pub versions: Vec<CredentialVersion>,
    /// To whom the newest is sealed.
    pub recipients: BTreeMap<NodeName, R>,
    /// The escrow recipients that can open the newest.
    #[serde(skip_serializing_if = "Vec::is_empty", default = "Vec::new")]
    pub escrow: Vec<R>,
}

/// Where something in the vault comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VaultOrigin {
    /// A module's own secret, made by the vault.
    Own,
    /// A module's own secret, supplied by an operator.
    Supplied,
    /// The secret part of a provision.
    Credential,
}

/// How something in the vault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VaultState {
    /// It can be asked for.
    Live,
    /// There is none yet.
    Waiting,
    /// Nothing that is assigned uses it: it is about to be dropped.
    Unwanted,
}

/// Asks which keys a supplied secret must be sealed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecipientsAsk {
    /// The module.
    pub module: ModuleName,
    /// Its secret.
    pub name: SecretName,
    /// On this node alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<NodeName>,
}

/// The keys that a supplied secret must be sealed to: one for each node that the module runs on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecipientsAnswer<R> {
    /// The version of this shape.
    pub v: V1,
    /// The key of each node that has joined.
    pub recipients: BTreeMap<NodeName, R>,
    /// Nodes that the module is to run on and that have not joined: it cannot be sealed to them yet.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub without_key: Vec<NodeName>,
    /// The mesh, for the label of an escrow copy.
    pub mesh: MeshName,
    /// The escrow recipients, to whom it is sealed too.
    #[serde(skip_serializing_if = "Vec::is_empty", default = "Vec::new")]
    pub escrow: Vec<R>,
}

/// Hands over a supplied secret, sealed to its node already: fields with the one field `value`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "R: Deserialize<'de> + Ord, C: Deserialize<'de>"))]
pub struct PutAsk<R, C> {
    /// The node.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
    /// Its secret.
    pub name: SecretName,
    /// What it was sealed to.
    pub recipient: R,
    /// What is sealed.
    pub ciphertext: C,
    /// Its id, where whoever asks has chosen one: 16 lower-case hexadecimal characters that were never used under this name.
    /// An escrow copy says it on its inside.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<String>,
    /// The same, sealed to escrow recipients: an [`EscrowLabel`](super::EscrowLabel) with its `secrets`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default = "BTreeMap::new")]
    pub escrow: BTreeMap<R, C>,
}

/// It is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutAnswer {
    /// The version of this shape.
    pub v: V1,
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
}

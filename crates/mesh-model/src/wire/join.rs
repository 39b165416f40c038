//! How somebody comes to the mesh: `mesh-controller.invite`, asked by an operator, and `mesh-controller.join`, asked by who
//! was invited. Nodes and operators go one way.
//!
//! `F` is the fingerprint of a certificate, `I` that of a verifying key, `K` a verifying key: this crate does not know how.

use serde::{Deserialize, Serialize};

use super::{NodeFacts, Timestamp, V1};
use crate::name::{MeshName, NodeName, OperatorName};

/// Who may be invited to join.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", content = "name", rename_all = "lowercase")]
pub enum Invitee {
    /// A machine.
    Node(NodeName),
    /// A person.
    Operator(OperatorName),
}

/// Asks that somebody be invited. The one-time key is made by who asks, and only its public half is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InviteAsk {
    /// Who.
    #[serde(flatten)]
    pub invitee: Invitee,
    /// The public half of the one-time key: `U…`
    pub user: String,
}

/// An invitation, but for the one-time key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InviteAnswer<F, I> {
    /// The version of this shape.
    pub v: V1,
    /// The mesh.
    pub mesh: MeshName,
    /// Where the bus is.
    pub urls: Vec<String>,
    /// What the certificate of the mesh's authority is known by.
    pub ca: F,
    /// What the vault's signing key is known by.
    pub signer: I,
    /// The token of the one-time key, signed.
    pub token: String,
    /// Until when it is good.
    pub until: Timestamp,
    /// Whether they have joined already: then it is good for the key that they have, and for no other.
    pub joined: bool,
}

/// Somebody who was invited shows the public half of their own key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinAsk {
    /// The public half of the one-time key: which invitation it is.
    pub invitation: String,
    /// The public half of the key that is to be let in: `U…`
    pub user: String,
    /// The one-time key's signature of who is to be let in, by which key.
    pub proof: String,
    /// What a machine tells of itself, so that what is assigned to it finds its place there from the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub facts: Option<NodeFacts>,
}

/// What lets them in from now on, and what they have to know of the mesh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinAnswer<K> {
    /// The version of this shape.
    pub v: V1,
    /// The mesh.
    pub mesh: MeshName,
    /// The token of their key, signed.
    pub token: String,
    /// Where the bus is.
    pub urls: Vec<String>,
    /// The key that the mesh's vault signs with.
    pub signer: K,
}

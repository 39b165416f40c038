//! What a node asks the vault for, and how it is answered: `mesh-vault.secret.<node>`, `mesh-vault.consumers.<node>` and
//! `mesh-vault.pin.<node>`. Who asks stands in the subject, where the bus has checked it, and never in the body.
//!
//! `S` is what is sealed (`mesh_seal::Sealed`): this crate does not know how.

use serde::{Deserialize, Serialize};

use super::V1;
use crate::name::{LocalName, ModuleName, NodeName, ProvisionName};

/// Asks for every live credential under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretAsk {
    /// The module on the node that asks.
    pub module: ModuleName,
    /// The local of a need, or `secret.<name>`.
    pub name: String,
}

/// The live credentials under one name, the newest last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SecretAnswer<S> {
    /// The version of this shape.
    pub v: V1,
    /// The credentials; none while something is waited for.
    pub credentials: Vec<Delivered<S>>,
    /// While the consumer is between two, the number of what it is offered here: it is told back in `applied`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub turn: Option<u64>,
    /// Why there is none yet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
}

/// One credential, sealed to the node that asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivered<S> {
    /// Its id.
    pub id: String,
    /// Counts up under one name.
    pub version: u64,
    /// Its fields, sealed and signed. A module's own secret has one field, `value`.
    pub sealed: S,
}

/// Asks for the credentials of the consumers of a provision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumersAsk {
    /// The providing module on the node that asks.
    pub module: ModuleName,
    /// What it provides.
    pub provision: ProvisionName,
    /// Go on behind this: the `next` of the answer before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<String>,
}

/// A page of consumers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConsumersAnswer<S> {
    /// The version of this shape.
    pub v: V1,
    /// The consumers that have a credential.
    pub entries: Vec<ConsumerCredentials<S>>,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// The credentials of one consumer, sealed to the provider's node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConsumerCredentials<S> {
    /// The consumer's node.
    pub node: NodeName,
    /// The consumer.
    pub module: ModuleName,
    /// Its own name for the provision.
    pub local: LocalName,
    /// Its live credentials, the newest last.
    pub credentials: Vec<Delivered<S>>,
}

impl<S> ConsumerCredentials<S> {
    /// Whether these are this consumer's.
    #[must_use]
    pub fn is_of(&self, consumer: &super::Consumer) -> bool {
        self.node == consumer.node && self.module == consumer.module && self.local == consumer.local
    }
}

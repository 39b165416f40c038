//! `mesh-vault_credentials`: which credentials there are, so that others notice; never a secret.

use serde::{Deserialize, Serialize};

use super::V1;
use crate::digest::Digest;
use crate::name::{ModuleName, NodeName};

/// The credentials under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialRecord {
    /// The version of this shape.
    pub v: V1,
    /// The consumer's node, or the one that the secret belongs to.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
    /// The local of the need, or `secret.<name>`.
    pub name: String,
    /// The live ones, the newest last; empty while something is waited for.
    pub versions: Vec<CredentialVersion>,
    /// While the consumer is between two, the number of what it is offered: it moves on with each step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub turn: Option<u64>,
    /// Why there is none yet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
}

/// One credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialVersion {
    /// Its id.
    pub id: String,
    /// Counts up under one name, and is never given twice.
    pub version: u64,
}

/// Something of the credentials of a provider's consumers: it changes whenever they do, so that the provider looks again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumersRecord {
    /// The version of this shape.
    pub v: V1,
    /// The provider's node.
    pub node: NodeName,
    /// The provider.
    pub module: ModuleName,
    /// `consumers.<provision>`.
    pub name: String,
    /// Of the ids of all live credentials.
    pub digest: Digest,
}

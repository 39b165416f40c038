//! What the vault keeps of one credential: what it was made for, and the seals. Never the secret.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::name::{FieldName, NodeName, ProvisionName};
use mesh_model::wire::Provider;
use mesh_seal::{Ciphertext, Recipient, Sealed};
use serde::{Deserialize, Serialize};

/// A credential as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// Random; a login's name may be derived from it.
    pub id: String,
    /// Counts up under one key, and is never given twice.
    pub version: u64,
    /// What it was made for. Where something else is wanted, it no longer serves.
    pub origin: Origin,
    /// The same secret, sealed to each machine that may read it.
    pub sealed: BTreeMap<NodeName, Sealed>,
    /// The same with a label on the inside, sealed to each escrow recipient that there was.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub escrow: BTreeMap<Recipient, Ciphertext>,
}

/// What a credential was made for: as much of it as makes another one necessary when it changes.
///
/// A length and an alphabet are not in it: who asks for a longer secret gets it with the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "lowercase")]
pub enum Origin {
    /// A module's own, made here.
    Own,
    /// A module's own, sealed by an operator.
    Supplied,
    /// The secret part of a provision, made here.
    Credential {
        /// Whom it is for.
        provider: Provider,
        /// Of what kind.
        provision: ProvisionName,
        /// What it is made of.
        fields: BTreeSet<FieldName>,
    },
}

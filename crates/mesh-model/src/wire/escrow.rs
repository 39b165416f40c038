//! What is sealed for the day on which the control plane is lost, and to whom: `mesh-vault.escrow`, `mesh-vault.escrowed`,
//! `mesh-vault.confirm-escrow`. What is handed over is sealed to escrow recipients, and to nobody who asks.
//!
//! `R` is a recipient key (`mesh_seal::Recipient`), `C` a ciphertext: this crate does not know how.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Provider, V1, VaultOrigin};
use crate::name::{MeshName, ModuleName, NodeName, ProvisionName};

/// What an escrow copy says of itself, on the inside of the seal: a line of JSON with these keys and `secrets`, a map of
/// field to value; a module's own secret has the one field `value`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscrowLabel {
    /// The version of this shape.
    pub v: V1,
    /// The mesh.
    pub mesh: MeshName,
    /// The consumer's node, or the one that the secret belongs to.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
    /// The local of the need, or `secret.<name>`.
    pub name: String,
    /// Its id.
    pub id: String,
    /// Its version; absent from what an operator sealed, who does not know it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<u64>,
    /// Where it comes from.
    pub origin: VaultOrigin,
    /// Who provides, for a credential.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<Provider>,
    /// What, for a credential.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provision: Option<ProvisionName>,
}

/// How an escrow recipient stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EscrowState {
    /// Whatever is made is sealed to it too.
    Sealed,
    /// The plan names it, and nobody has confirmed it on the server's machine: nothing is sealed to it.
    Waiting,
    /// It is confirmed, and no plan has named it yet.
    Ahead,
}

/// The escrow recipients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "R: Deserialize<'de> + Ord"))]
pub struct EscrowAnswer<R> {
    /// The version of this shape.
    pub v: V1,
    /// The mesh.
    pub mesh: MeshName,
    /// How each stands.
    pub recipients: BTreeMap<R, EscrowState>,
}

/// Asks for what is sealed to the escrow recipients.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EscrowedAsk {
    /// Go on behind this: the `next` of the answer before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<String>,
}

/// A page of what is sealed to the escrow recipients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "R: Deserialize<'de> + Ord, C: Deserialize<'de>"))]
pub struct EscrowedAnswer<R, C> {
    /// The version of this shape.
    pub v: V1,
    /// Every live credential, by node, module and name, the newest of a name last.
    pub entries: Vec<Escrowed<R, C>>,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// One credential, sealed to each escrow recipient that there was when it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "R: Deserialize<'de> + Ord, C: Deserialize<'de>"))]
pub struct Escrowed<R, C> {
    /// The consumer's node, or the one that the secret belongs to.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
    /// The local of the need, or `secret.<name>`.
    pub name: String,
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// An age file for each recipient of now that can open it: an [`EscrowLabel`] with its `secrets`.
    pub copies: BTreeMap<R, C>,
}

/// Confirms a recipient: asked on the server's machine alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmEscrowAsk<R> {
    /// Which.
    pub recipient: R,
}

/// From now on, what is made is sealed to it too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmEscrowAnswer {
    /// The version of this shape.
    pub v: V1,
    /// How it stands now.
    pub state: EscrowState,
    /// What it cannot open, having been made before: `<node>.<module>.<name>` each.
    pub unreadable: Vec<String>,
}

//! Opens what the vault sealed to this node, and nothing else.
//!
//! It knows the node's identity, the signing key that the node learnt when it joined, and the oldest version that may
//! still be live of each credential: what is older was taken back, however well it is signed.

use std::collections::BTreeMap;

use mesh_model::key::{CredentialKey, Entry};
use mesh_model::name::{MeshName, NodeName};
use mesh_model::wire::Delivered;
use mesh_seal::{Expect, Fields, FieldsError, OpenError, Sealed, SealingKey, VerifyingKey};
use thiserror::Error;

/// What is needed to open what is sealed to this node.
pub struct Opener {
    /// The mesh that the node joined.
    pub mesh: MeshName,
    /// The node.
    pub node: NodeName,
    /// Its sealing key.
    pub identity: SealingKey,
    /// The key that the vault signs with.
    pub signer: VerifyingKey,
    /// For each credential, the oldest version that was live when it was last delivered.
    pub seen: BTreeMap<String, u64>,
}

/// Why a credential was not opened.
#[derive(Debug, Error)]
pub enum NotOpened {
    /// It is not what was asked for.
    #[error("what was delivered as {0} is refused")]
    Refused(CredentialKey, #[source] Box<OpenError>),
    /// It is not what a credential holds.
    #[error("what was delivered as {0} cannot be read")]
    Unreadable(CredentialKey, #[source] FieldsError),
}

/// A credential, opened.
pub struct Opened {
    /// Its id.
    pub id: String,
    /// Its fields.
    pub fields: Fields,
}

impl Opener {
    /// Opens every credential that was delivered under one name, the newest last.
    ///
    /// # Errors
    /// Where any of them is forged, damaged, or not what was asked for: then none is used.
    pub fn open(
        &mut self,
        key: &CredentialKey,
        delivered: &[Delivered<Sealed>],
    ) -> Result<Vec<Opened>, NotOpened> {
        let seen = self.seen.get(&key.to_string()).copied().unwrap_or(0);
        let opened =
            delivered.iter().map(|one| self.open_one(key, one, seen)).collect::<Result<Vec<_>, _>>()?;
        if let Some(oldest) = delivered.iter().map(|one| one.sealed.label.version).min() {
            self.seen.insert(key.to_string(), oldest.max(seen));
        }
        Ok(opened)
    }

    fn open_one(
        &self,
        key: &CredentialKey,
        delivered: &Delivered<Sealed>,
        at_least_version: u64,
    ) -> Result<Opened, NotOpened> {
        let owner = format!("{}.{}", key.node, key.module);
        let name = key.entry.to_string();
        let expect = Expect {
            mesh: self.mesh.as_str(),
            node: self.node.as_str(),
            owner: &owner,
            name: &name,
            at_least_version,
        };
        let plain = delivered
            .sealed
            .open(&self.identity, &self.signer, &expect)
            .map_err(|source| NotOpened::Refused(key.clone(), Box::new(source)))?;
        let fields = Fields::decode(&plain).map_err(|source| NotOpened::Unreadable(key.clone(), source))?;
        Ok(Opened { id: delivered.sealed.label.id.clone(), fields })
    }
}

/// The key of a need's credential or of a secret of the module's own.
#[must_use]
pub fn key(assignment: &mesh_model::wire::Assignment, entry: Entry) -> CredentialKey {
    CredentialKey { node: assignment.node.clone(), module: assignment.module.clone(), entry }
}

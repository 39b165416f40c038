//! Takes the steps of a plan: a match over them, with a store and randomness.
//!
//! What is made is on the disk before anybody hears of it, in as few commits as the steps allow. A
//! crash between two commits loses nothing: the next plan finds what is still missing.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::key::CredentialKey;
use mesh_model::name::{MeshName, NodeName};
use mesh_seal::{
    Ciphertext, Fields, FieldsError, Label, NoRandomness, Randomness, Recipient, SealError, Sealed, Secret,
    SigningKey,
};

use crate::credential::{Credential, Origin};
use crate::escrow::{self, CopyError};
use crate::plan::{Pins, Step};
use crate::rotation::{self, Fresh, Rotation};
use crate::rules::{Spec, What};
use crate::store::{Change, Store, StoreError};

/// So many entries go into one commit: a thousand consumers do not cost a thousand fsyncs.
const BATCH: usize = 64;

/// What making a secret takes.
pub struct Maker<'a> {
    /// Whose secrets they are.
    pub mesh: &'a MeshName,
    /// The vault's own key.
    pub signing: &'a SigningKey,
    /// To whom it is sealed beside its readers.
    pub escrow: &'a BTreeSet<Recipient>,
    /// Where secrets and ids come from.
    pub random: &'a mut dyn Randomness,
}

/// What an operator sealed.
#[derive(Debug, Clone)]
pub struct Supplied {
    /// The id that the operator chose, if any.
    pub id: Option<String>,
    /// The key of the node.
    pub recipient: Recipient,
    /// What is sealed to it.
    pub ciphertext: Ciphertext,
    /// The same for escrow recipients.
    pub escrow: BTreeMap<Recipient, Ciphertext>,
}

/// One entry could not be made; the others were.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// No secret, or no id, could be made.
    #[error("making a secret for {key} failed")]
    Randomness {
        /// For what.
        key: CredentialKey,
        /// Why.
        source: NoRandomness,
    },
    /// Its fields could not be put together.
    #[error("putting together the fields of {key} failed")]
    Fields {
        /// For what.
        key: CredentialKey,
        /// Why.
        source: FieldsError,
    },
    /// It could not be sealed.
    #[error("sealing {key} failed")]
    Seal {
        /// What.
        key: CredentialKey,
        /// Why.
        source: SealError,
    },
    /// It could not be sealed to an escrow recipient.
    #[error("sealing {key} to an escrow recipient failed")]
    Escrow {
        /// What.
        key: CredentialKey,
        /// Why.
        source: CopyError,
    },
}

/// Takes all steps. What could not be made is told, and does not hold up the rest.
pub fn apply(steps: &[Step], maker: &mut Maker<'_>, store: &dyn Store) -> Result<Vec<MakeError>, StoreError> {
    let mut failed = Vec::new();
    for batch in steps.chunks(BATCH) {
        let mut changes = Vec::new();
        for step in batch {
            match step {
                Step::Make { key, what, to, .. } => {
                    match maker.make(key, what, to, store.highest(key)? + 1) {
                        Ok(credential) => changes.push(Change::Replace(key.clone(), credential)),
                        Err(error) => failed.push(error),
                    }
                }
                Step::Drop { key, .. } => changes.push(Change::Drop(key.clone())),
                Step::WaitForKey { .. } | Step::WaitForOperator { .. } => {}
            }
        }
        if !changes.is_empty() {
            store.commit(&changes)?;
        }
    }
    Ok(failed)
}

/// The changes that a step of a rotation comes to: one commit. None where what it takes is not there, which the next look
/// finds as well.
pub fn rotate(
    rotation: &Rotation,
    step: &rotation::Step,
    needs: Rotates<'_>,
    maker: &mut Maker<'_>,
) -> Result<Vec<Change>, MakeError> {
    let Rotates { what, to, number } = needs;
    let mut fresh = Fresh { number, id: String::new() };
    let mut changes = Vec::new();
    match step {
        rotation::Step::Begin { node, .. } => {
            let (Some(what), Some(to)) = (what, to) else { return Ok(vec![]) };
            let key = rotation.key(node);
            let second = maker.make(&key, what, &to, number)?;
            fresh.id.clone_from(&second.id);
            changes.push(Change::Add(key, second));
        }
        rotation::Step::Retire { node, id } => changes.push(Change::Retire(rotation.key(node), id.clone())),
        rotation::Step::Narrow { .. }
        | rotation::Step::Leave { .. }
        | rotation::Step::Stop(_)
        | rotation::Step::Finish => {}
    }
    changes.push(Change::Rotate(rotation.after(step, &fresh)));
    Ok(changes)
}

/// What a step of a rotation takes.
#[derive(Debug)]
pub struct Rotates<'a> {
    /// What the credential is.
    pub what: Option<&'a What>,
    /// To whom it is sealed, where each of them has a key.
    pub to: Option<Pins>,
    /// Higher than any number given under the key.
    pub number: u64,
}

impl Maker<'_> {
    /// Makes a credential and seals it to each reader; the secret itself is gone when this returns.
    fn make(
        &mut self,
        key: &CredentialKey,
        what: &What,
        to: &Pins,
        version: u64,
    ) -> Result<Credential, MakeError> {
        let fields = self.fields(key, what)?;
        let secret = fields.encode().map_err(|source| MakeError::Fields { key: key.clone(), source })?;
        let id = self.id(key)?;
        let mut sealed = BTreeMap::new();
        for (node, recipient) in to {
            let label = self.label(key, node, &id, version);
            let sealing = self.signing.seal_for(label, recipient, &secret);
            let one = sealing.map_err(|source| MakeError::Seal { key: key.clone(), source })?;
            sealed.insert(node.clone(), one);
        }
        let origin = what.origin();
        let label = escrow::label(self.mesh, key, &origin, &id, version);
        let copies = escrow::copies(self.escrow, &label, &fields);
        let escrow = copies.map_err(|source| MakeError::Escrow { key: key.clone(), source })?;
        Ok(Credential { id, version, origin, sealed, escrow })
    }

    /// Signs, unopened, what an operator sealed to the node that a supplied secret belongs to.
    pub fn countersign(
        &mut self,
        key: &CredentialKey,
        supplied: Supplied,
        version: u64,
    ) -> Result<Credential, MakeError> {
        let Supplied { id, recipient, ciphertext, escrow } = supplied;
        let id = id.map_or_else(|| self.id(key), Ok)?;
        let label = self.label(key, &key.node, &id, version);
        let sealed: Sealed = self.signing.countersign(label, recipient, ciphertext);
        let sealed = BTreeMap::from([(key.node.clone(), sealed)]);
        Ok(Credential { id, version, origin: Origin::Supplied, sealed, escrow })
    }

    fn fields(&mut self, key: &CredentialKey, what: &What) -> Result<Fields, MakeError> {
        let mut drawn = Fields::new();
        for (field, spec) in what.fields() {
            drawn.insert(field, self.draw(key, spec)?);
        }
        Ok(drawn)
    }

    fn draw(&mut self, key: &CredentialKey, spec: Spec) -> Result<Secret, MakeError> {
        let drawn = mesh_seal::secret(self.random, spec.length, spec.alphabet);
        drawn.map_err(|source| MakeError::Randomness { key: key.clone(), source })
    }

    fn id(&mut self, key: &CredentialKey) -> Result<String, MakeError> {
        mesh_seal::random_id(self.random).map_err(|source| MakeError::Randomness { key: key.clone(), source })
    }

    fn label(&self, key: &CredentialKey, node: &NodeName, id: &str, version: u64) -> Label {
        Label {
            mesh: self.mesh.to_string(),
            node: node.to_string(),
            owner: format!("{}.{}", key.node, key.module),
            name: key.entry.to_string(),
            id: id.to_owned(),
            version,
        }
    }
}

#[cfg(test)]
mod tests;

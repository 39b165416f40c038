//! To whom secrets are sealed beside the machines that may read them, for the day on which the control plane is lost.
//!
//! Pure. A plan names recipients, and whoever may apply writes it; so a recipient counts only once it was confirmed on the
//! server's machine. A confirmation ends with the plan that stops naming it: whoever names it again later has to have it
//! confirmed again. What was sealed to it before stays sealed.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::key::CredentialKey;
use mesh_model::name::MeshName;
use mesh_model::wire::{EscrowLabel, EscrowState, V1, VaultOrigin};
use mesh_seal::{Ciphertext, Fields, FieldsError, Recipient, SealError, seal};
use serde::{Deserialize, Serialize};

use crate::credential::Origin;
use crate::plan::Kept;
use crate::store::Change;

/// The recipients that were confirmed.
pub type Confirmed = BTreeMap<Recipient, Standing>;

/// How a confirmed recipient stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// No plan has named it yet.
    Ahead,
    /// The plan names it.
    Named,
}

/// The escrow recipients as they are now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Escrow {
    /// Whatever is made is sealed to these.
    pub sealed: BTreeSet<Recipient>,
    /// The plan names them, and nobody has confirmed them.
    pub waiting: BTreeSet<Recipient>,
    /// They are confirmed, and no plan names them.
    pub ahead: BTreeSet<Recipient>,
}

impl Escrow {
    /// From what the plan in effect names, where that is known; else those that were named when it last was.
    pub fn of(planned: Option<&BTreeSet<Recipient>>, confirmed: &Confirmed) -> Self {
        let named_before = |recipient: &Recipient| confirmed.get(recipient) == Some(&Standing::Named);
        let before: BTreeSet<_>;
        let planned = match planned {
            Some(planned) => planned,
            None => {
                before = confirmed.keys().filter(|recipient| named_before(recipient)).cloned().collect();
                &before
            }
        };
        let confirmed: BTreeSet<_> = confirmed.keys().cloned().collect();
        Self { sealed: planned & &confirmed, waiting: planned - &confirmed, ahead: &confirmed - planned }
    }

    /// How each stands.
    pub fn told(&self) -> BTreeMap<Recipient, EscrowState> {
        let all = [
            (&self.sealed, EscrowState::Sealed),
            (&self.waiting, EscrowState::Waiting),
            (&self.ahead, EscrowState::Ahead),
        ];
        all.into_iter().flat_map(|(them, state)| them.iter().map(move |one| (one.clone(), state))).collect()
    }
}

/// What a plan changes in what was confirmed.
pub fn changes(planned: Option<&BTreeSet<Recipient>>, confirmed: &Confirmed) -> Vec<Change> {
    let Some(planned) = planned else { return vec![] };
    let change =
        |(recipient, standing): (&Recipient, &Standing)| match (standing, planned.contains(recipient)) {
            (Standing::Ahead, true) => Some(Change::Confirm(recipient.clone(), Standing::Named)),
            (Standing::Named, false) => Some(Change::Unconfirm(recipient.clone())),
            (Standing::Ahead, false) | (Standing::Named, true) => None,
        };
    confirmed.iter().filter_map(change).collect()
}

/// What a recipient cannot open of what is live.
pub fn unreadable<'a>(recipient: &Recipient, kept: &'a Kept) -> Vec<&'a CredentialKey> {
    let lacks = |(key, live): (&'a CredentialKey, &'a Vec<_>)| {
        let lacks = live
            .last()
            .is_some_and(|one: &crate::credential::Credential| !one.escrow.contains_key(recipient));
        lacks.then_some(key)
    };
    kept.iter().filter_map(lacks).collect()
}

/// A copy could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// What it says could not be put together.
    #[error(transparent)]
    Fields(#[from] FieldsError),
    /// It could not be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// What a copy says of itself.
pub fn label(mesh: &MeshName, key: &CredentialKey, origin: &Origin, id: &str, version: u64) -> EscrowLabel {
    let (origin, provider, provision) = match origin {
        Origin::Own => (VaultOrigin::Own, None, None),
        Origin::Supplied => (VaultOrigin::Supplied, None, None),
        Origin::Credential { provider, provision, .. } => {
            (VaultOrigin::Credential, Some(provider.clone()), Some(provision.clone()))
        }
    };
    EscrowLabel {
        v: V1,
        mesh: mesh.clone(),
        node: key.node.clone(),
        module: key.module.clone(),
        name: key.entry.to_string(),
        id: id.to_owned(),
        version: Some(version),
        origin,
        provider,
        provision,
    }
}

/// Seals to each recipient on its own, so that one who is left out later opens nothing that is handed over then.
pub fn copies(
    to: &BTreeSet<Recipient>,
    label: &EscrowLabel,
    fields: &Fields,
) -> Result<BTreeMap<Recipient, Ciphertext>, CopyError> {
    if to.is_empty() {
        return Ok(BTreeMap::new());
    }
    let plain = fields.encode_labelled(label)?;
    to.iter().map(|recipient| Ok((recipient.clone(), seal(recipient, plain.expose())?))).collect()
}

#[cfg(test)]
mod tests;

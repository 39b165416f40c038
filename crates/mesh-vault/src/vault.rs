//! The vault itself, without a bus: one look at what is wanted, and what changes between two looks.
//!
//! Blocking, since each change waits for the disk. Whoever makes something holds `making`, so that no
//! version is given twice; reading needs no lock but the short one on what the last look saw.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use mesh_model::key::CredentialKey;
use mesh_model::name::{MeshName, NodeName, ProvisionName};
use mesh_model::wire::{CredentialRecord, Provider};
use mesh_seal::{Ciphertext, Recipient, SigningKey, SystemRandom, VerifyingKey};

use crate::apply::{MakeError, Maker, apply};
use crate::credential::{Credential, Origin};
use crate::plan::{Kept, Step, plan};
use crate::record::{records, waits};
use crate::rules::Wanted;
use crate::store::{Change, Pinned, Store, StoreError};

/// What the vault holds while it runs.
pub struct Vault {
    mesh: MeshName,
    signing: SigningKey,
    store: Box<dyn Store>,
    seen: Mutex<Arc<Seen>>,
    making: Mutex<()>,
}

/// What the last look saw.
#[derive(Debug, Default)]
pub struct Seen {
    /// What there must be.
    pub wanted: Wanted,
    /// Why there is none yet of some of it.
    pub waits: BTreeMap<CredentialKey, String>,
    /// What there is for each provider and kind: of what was made for it, whether or not it is wanted at the moment. A bus
    /// whose assignments are just being written again must not look to a provider as if everybody had left.
    pub made_for: BTreeMap<(Provider, ProvisionName), BTreeSet<CredentialKey>>,
    /// Whether there was a look at all: before the first, nothing can be said to be missing.
    pub has_looked: bool,
}

/// What a look came to.
#[derive(Debug)]
pub struct Look {
    /// The whole of what others should notice.
    pub records: BTreeMap<CredentialKey, CredentialRecord>,
    /// What was done.
    pub steps: Vec<Step>,
    /// What could not be made.
    pub failed: Vec<MakeError>,
}

/// A supplied secret could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// It could not be signed.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// It could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Vault {
    /// One that keeps its things in a store. It makes nothing before the first [`Vault::look`].
    pub fn new(mesh: MeshName, signing: SigningKey, store: Box<dyn Store>) -> Self {
        Self { mesh, signing, store, seen: Mutex::default(), making: Mutex::default() }
    }

    /// The key that it signs with, as others check it.
    pub fn verifying(&self) -> VerifyingKey {
        self.signing.verifying()
    }

    /// Where it keeps its things.
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// What the last look saw.
    pub fn seen(&self) -> Arc<Seen> {
        Arc::clone(&self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at the whole of what is wanted and of what there is, and takes the steps in between.
    /// `wanted` is asked with what there is.
    pub fn look(&self, wanted: impl FnOnce(&Kept) -> Wanted) -> Result<Look, StoreError> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, pins) = (self.store.kept()?, self.store.pins()?);
        let wanted = wanted(&kept);
        let steps = plan(&wanted, &kept, &pins);
        let failed = apply(&steps, &mut self.maker(&mut SystemRandom), self.store())?;
        let kept = if steps.iter().any(Step::is_change) { self.store.kept()? } else { kept };
        let records = records(&wanted, &kept, &pins);
        let waits = waits(&wanted, &kept, &pins);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(Seen { wanted, waits, made_for: made_for(&kept), has_looked: true });
        Ok(Look { records, steps, failed })
    }

    /// Keeps the first key that a node shows.
    pub fn pin(&self, node: &NodeName, recipient: &Recipient) -> Result<Pinned, StoreError> {
        self.store.pin(node, recipient)
    }

    /// Keeps a supplied secret, signed unopened, in the place of the one before.
    pub fn put(
        &self,
        key: &CredentialKey,
        recipient: Recipient,
        ciphertext: Ciphertext,
    ) -> Result<Credential, PutError> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.store.highest(key)? + 1;
        let mut random = SystemRandom;
        let credential = self.maker(&mut random).countersign(key, recipient, ciphertext, version)?;
        self.store.commit(&[Change::Replace(key.clone(), credential.clone())])?;
        Ok(credential)
    }

    fn maker<'a>(&'a self, random: &'a mut SystemRandom) -> Maker<'a> {
        Maker { mesh: &self.mesh, signing: &self.signing, random }
    }
}

fn made_for(kept: &Kept) -> BTreeMap<(Provider, ProvisionName), BTreeSet<CredentialKey>> {
    let mut made: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (key, credentials) in kept {
        if let Some(Origin::Credential { provider, provision, .. }) =
            credentials.last().map(|one| &one.origin)
        {
            made.entry((provider.clone(), provision.clone())).or_default().insert(key.clone());
        }
    }
    made
}

#[cfg(test)]
mod tests;

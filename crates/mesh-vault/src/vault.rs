//! The vault itself, without a bus: one look at what is wanted, and what changes between two looks.
//!
//! Blocking, since each change waits for the disk. Whoever makes something holds `making`, so that no
//! version is given twice; reading needs no lock but the short one on what the last look saw.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use mesh_model::key::CredentialKey;
use mesh_model::name::{MeshName, NodeName, ProvisionName};
use mesh_model::wire::{EscrowState, Provider, RotationTold};
use mesh_seal::{Recipient, SigningKey, SystemRandom, VerifyingKey};
use serde_json::{Value, json};

use crate::apply::{MakeError, Maker, Supplied, apply};
use crate::credential::{Credential, Origin};
use crate::escrow::{self, Escrow, Standing};
use crate::plan::{Kept, Pins, Step, plan};
use crate::record::{consumers, records, waits};
use crate::rotation;
use crate::rules::Wanted;
use crate::store::{Change, Pinned, Store, StoreError};

mod rotations;
pub use rotations::{Consumers, NotRotated, Turned};

/// What the vault holds while it runs.
pub struct Vault {
    mesh: MeshName,
    signing: SigningKey,
    store: Arc<dyn Store>,
    seen: Mutex<Arc<Seen>>,
    rotations: Mutex<Vec<RotationTold>>,
    making: Mutex<rotation::watch::Watch>,
}

/// What the last look saw.
#[derive(Debug, Clone, Default)]
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
    /// The escrow recipients.
    pub escrow: Escrow,
}

/// What a look came to.
#[derive(Debug)]
pub struct Look {
    /// The whole of what others should notice, by its key in the bucket.
    pub records: BTreeMap<String, Value>,
    /// What was done.
    pub steps: Vec<Step>,
    /// What was done about rotations.
    pub turned: Vec<Turned>,
    /// Whether any rotation is under way.
    pub is_rotating: bool,
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
    pub fn new(mesh: MeshName, signing: SigningKey, store: Arc<dyn Store>) -> Self {
        let (seen, rotations, making) = Default::default();
        Self { mesh, signing, store, seen, rotations, making }
    }

    /// The mesh.
    pub fn mesh(&self) -> &MeshName {
        &self.mesh
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
    /// `wanted` is asked with what there is, `consumers` for what each of them says.
    pub fn look(
        &self,
        wanted: impl FnOnce(&Kept) -> Wanted,
        consumers: &Consumers<'_>,
        now: Instant,
    ) -> Result<Look, StoreError> {
        let mut watch = self.making();
        let (kept, pins) = (self.store.kept()?, self.store.pins()?);
        let wanted = wanted(&kept);
        let escrow = self.escrow_with(wanted.escrow.as_ref())?;
        let steps = plan(&wanted, &kept, &pins);
        let mut failed = apply(&steps, &mut self.maker(&escrow.sealed, &mut SystemRandom), self.store())?;
        let mut kept = if steps.iter().any(Step::is_change) { self.store.kept()? } else { kept };
        let around =
            rotations::Around { wanted: &wanted, pins: &pins, escrow: &escrow.sealed, consumers, now };
        let (turned, told) = self.turn(&around, &mut kept, &mut watch, &mut failed)?;
        let (records, is_rotating) = self.records(&wanted, &kept, &pins)?;
        let waits = waits(&wanted, &kept, &pins);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(Seen { wanted, waits, made_for: made_for(&kept), has_looked: true, escrow });
        *self.rotations.lock().unwrap_or_else(PoisonError::into_inner) = told;
        Ok(Look { records, steps, turned, is_rotating, failed })
    }

    fn records(
        &self,
        wanted: &Wanted,
        kept: &Kept,
        pins: &Pins,
    ) -> Result<(BTreeMap<String, Value>, bool), StoreError> {
        let rotations = self.store.rotations()?;
        let told = records(wanted, kept, pins, &rotations).into_iter();
        let told = told.map(|(key, record)| (key.to_string(), json!(record)));
        let told =
            told.chain(consumers(kept, &rotations).into_iter().map(|(key, record)| (key, json!(record))));
        Ok((told.collect(), rotations.values().any(|rotation| !rotation.is_over())))
    }

    /// Waits until nothing is being made.
    pub(crate) fn rest(&self) {
        drop(self.making.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Keeps the first key that a node shows.
    pub fn pin(&self, node: &NodeName, recipient: &Recipient) -> Result<Pinned, StoreError> {
        self.store.pin(node, recipient)
    }

    /// Keeps a supplied secret, signed unopened, in the place of the one before.
    pub fn put(&self, key: &CredentialKey, supplied: Supplied) -> Result<Credential, PutError> {
        let _making = self.making();
        let version = self.store.highest(key)? + 1;
        let (nobody, mut random) = (BTreeSet::new(), SystemRandom);
        let credential = self.maker(&nobody, &mut random).countersign(key, supplied, version)?;
        self.store.commit(&[Change::Replace(key.clone(), credential.clone())])?;
        Ok(credential)
    }

    fn making(&self) -> MutexGuard<'_, rotation::watch::Watch> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, what is made is sealed to this recipient too, while a plan names it.
    pub fn confirm(&self, recipient: &Recipient) -> Result<EscrowState, StoreError> {
        let _making = self.making();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut escrow = seen.escrow.clone();
        let standing = match seen.wanted.escrow.as_ref().is_some_and(|named| named.contains(recipient)) {
            true => Standing::Named,
            false => Standing::Ahead,
        };
        if !escrow.sealed.contains(recipient) {
            self.store.commit(&[Change::Confirm(recipient.clone(), standing)])?;
            escrow = Escrow::of(seen.wanted.escrow.as_ref(), &self.store.confirmed()?);
        }
        let state = escrow.told().get(recipient).copied().unwrap_or(EscrowState::Ahead);
        *seen = Arc::new(Seen { escrow, ..Seen::clone(&seen) });
        Ok(state)
    }

    /// The escrow recipients, once what the plan changes in them is kept.
    fn escrow_with(&self, planned: Option<&BTreeSet<Recipient>>) -> Result<Escrow, StoreError> {
        let confirmed = self.store.confirmed()?;
        let changes = escrow::changes(planned, &confirmed);
        if changes.is_empty() {
            return Ok(Escrow::of(planned, &confirmed));
        }
        self.store.commit(&changes)?;
        Ok(Escrow::of(planned, &self.store.confirmed()?))
    }

    fn maker<'a>(&'a self, escrow: &'a BTreeSet<Recipient>, random: &'a mut SystemRandom) -> Maker<'a> {
        Maker { mesh: &self.mesh, signing: &self.signing, escrow, random }
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

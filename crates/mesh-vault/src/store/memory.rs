//! A store that forgets everything at the end: for tests of what is above it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use super::*;

#[derive(Default)]
pub(crate) struct MemoryStore(Mutex<State>);

#[derive(Default)]
struct State {
    pins: Pins,
    kept: Kept,
    highest: BTreeMap<CredentialKey, u64>,
    confirmed: Confirmed,
    rotations: Rotations,
}

impl State {
    fn give(&mut self, key: &CredentialKey, number: u64) {
        let highest = self.highest.entry(key.clone()).or_default();
        *highest = number.max(*highest);
    }
}

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panics while it holds this")
    }
}

impl Store for MemoryStore {
    fn pins(&self) -> Result<Pins, StoreError> {
        Ok(self.state().pins.clone())
    }

    fn pin(&self, node: &NodeName, recipient: &Recipient) -> Result<Pinned, StoreError> {
        let pins = &mut self.state().pins;
        Ok(match pins.get(node) {
            Some(known) if known == recipient => Pinned::Same,
            Some(known) => Pinned::Another(known.clone()),
            None => {
                pins.insert(node.clone(), recipient.clone());
                Pinned::First
            }
        })
    }

    fn unpin(&self, node: &NodeName) -> Result<(), StoreError> {
        self.state().pins.remove(node);
        Ok(())
    }

    fn kept(&self) -> Result<Kept, StoreError> {
        Ok(self.state().kept.clone())
    }

    fn kept_of(&self, key: &CredentialKey) -> Result<Vec<Credential>, StoreError> {
        Ok(self.state().kept.get(key).cloned().unwrap_or_default())
    }

    fn live(&self, key: &CredentialKey) -> Result<Live, StoreError> {
        let state = self.state();
        let rotation = state.rotations.get(&RotationName::of(key));
        let turn = rotation.and_then(|rotation| rotation.between.get(&key.node)).cloned();
        Ok(Live { credentials: state.kept.get(key).cloned().unwrap_or_default(), turn })
    }

    fn rotations(&self) -> Result<Rotations, StoreError> {
        Ok(self.state().rotations.clone())
    }

    fn highest(&self, key: &CredentialKey) -> Result<u64, StoreError> {
        Ok(self.state().highest.get(key).copied().unwrap_or(0))
    }

    fn confirmed(&self) -> Result<Confirmed, StoreError> {
        Ok(self.state().confirmed.clone())
    }

    fn commit(&self, changes: &[Change]) -> Result<(), StoreError> {
        let state = &mut *self.state();
        for change in changes {
            match change {
                Change::Replace(key, credential) => {
                    state.kept.insert(key.clone(), vec![credential.clone()]);
                    state.give(key, credential.version);
                }
                Change::Add(key, credential) => {
                    state.kept.entry(key.clone()).or_default().push(credential.clone());
                    state.give(key, credential.version);
                }
                Change::Retire(key, id) => {
                    if let Some(live) = state.kept.get_mut(key) {
                        live.retain(|one| one.id != *id);
                    }
                    state.kept.retain(|_, live| !live.is_empty());
                }
                Change::Drop(key) => {
                    state.kept.remove(key);
                }
                Change::Confirm(recipient, standing) => {
                    state.confirmed.insert(recipient.clone(), *standing);
                }
                Change::Unconfirm(recipient) => {
                    state.confirmed.remove(recipient);
                }
                Change::Rotate(rotation) => {
                    for (node, turn) in &rotation.between {
                        state.give(&rotation.key(node), turn.number);
                    }
                    state.rotations.insert(rotation.name.clone(), rotation.clone());
                }
                Change::Forget(name) => {
                    state.rotations.remove(name);
                }
            }
        }
        Ok(())
    }
}

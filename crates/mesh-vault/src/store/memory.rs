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
                    let highest = state.highest.entry(key.clone()).or_default();
                    *highest = credential.version.max(*highest);
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
            }
        }
        Ok(())
    }
}

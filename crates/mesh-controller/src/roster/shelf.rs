//! The roster's bucket: which entries there are, each written only over what was read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use mesh_bus::kv::KvError;
use mesh_bus::seat::Tenure;
use mesh_bus::{Account, Bucket, Bus, Kv};
use mesh_model::name::{NodeName, OperatorName};
use mesh_model::wire::Invitee;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::RosterError;
use crate::world::whole;

/// The bucket, and the revision of each entry as it was last read or written here.
#[derive(Debug)]
pub(super) struct Shelf {
    bus: Bus,
    kv: Mutex<Kv>,
    revisions: Mutex<BTreeMap<String, u64>>,
}

/// Which entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Node(NodeName),
    Operator(OperatorName),
    Invited(Invitee),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(name) => write!(f, "node.{name}"),
            Self::Operator(name) => write!(f, "operator.{name}"),
            Self::Invited(invitee) => write!(f, "invited.{}", Account::of(invitee)),
        }
    }
}

impl Key {
    fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once('.')?;
        Some(match kind {
            "node" => Self::Node(name.parse().ok()?),
            "operator" => Self::Operator(name.parse().ok()?),
            "invited" => match name.parse().ok()? {
                Account::Node(node) => Self::Invited(Invitee::Node(node)),
                Account::Operator(name) => Self::Invited(Invitee::Operator(name)),
                Account::Module(_) | Account::Seat(_) | Account::Store(_) | Account::Invited(_) => {
                    return None;
                }
            },
            _ => return None,
        })
    }
}

/// The value of an entry, with its key for whoever cannot read it.
#[derive(Debug)]
pub(super) struct Value {
    key: String,
    bytes: Bytes,
}

/// Reads the value of an entry. One that cannot be read is no reason to go on without it: what has ended would come back.
pub(super) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, RosterError> {
    serde_json::from_slice(&value.bytes)
        .map_err(|source| RosterError::Shape { key: value.key.clone(), source })
}

impl Shelf {
    pub(super) fn new(bus: &Bus) -> Self {
        Self { bus: bus.clone(), kv: Mutex::new(Kv::new(bus, Bucket::roster())), revisions: Mutex::default() }
    }

    /// From now on it is written behind the seat's fence.
    pub(super) fn take(&self, tenure: &Tenure) {
        *self.kv.lock().unwrap_or_else(PoisonError::into_inner) = tenure.kv(Bucket::roster());
    }

    /// All entries. A key that is none of ours is passed over, and told.
    pub(super) async fn all(&self) -> Result<Vec<(Key, Value)>, RosterError> {
        let entries = whole(&self.bus, Bucket::roster()).await?;
        let mut revisions = BTreeMap::new();
        let mut all = Vec::new();
        for (key, entry) in entries.iter() {
            revisions.insert(key.clone(), entry.revision);
            match Key::parse(key) {
                Some(read) => all.push((read, Value { key: key.clone(), bytes: entry.value.clone() })),
                None => tracing::warn!(key, "a key of the roster is out of shape, and is passed over"),
            }
        }
        *self.revisions.lock().unwrap_or_else(PoisonError::into_inner) = revisions;
        Ok(all)
    }

    /// Writes an entry over the one that was read.
    pub(super) async fn write<T: Serialize>(&self, key: &Key, value: &T) -> Result<(), KvError> {
        let key = key.to_string();
        let text = serde_json::to_vec(value).expect("plain data serializes");
        let known = self.revisions.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        let kv = self.kv.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let written = match known {
            Some(revision) => kv.update(&key, text, revision).await,
            None => kv.create(&key, text).await,
        };
        let revision = match written {
            // It may have been written all the same.
            Err(KvError::Unknown { .. }) => kv.get(&key).await?.map(|entry| entry.revision),
            Ok(revision) => Some(revision),
            Err(error) => return Err(error),
        };
        let mut revisions = self.revisions.lock().unwrap_or_else(PoisonError::into_inner);
        match revision {
            Some(revision) => drop(revisions.insert(key, revision)),
            None => drop(revisions.remove(&key)),
        }
        drop(revisions);
        written.map(drop)
    }
}

#[cfg(test)]
mod tests {
    //! Keys are read as they were written.

    use super::*;

    #[test]
    fn keys() {
        for text in ["node.attic", "operator.ann", "invited.attic", "invited.operator=ann"] {
            assert_eq!(Key::parse(text).unwrap().to_string(), text);
        }
        for text in ["node", "node.", "node.a.b", "invited.seat=mesh-vault", "invited.invited=a", "x.y"] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }
}

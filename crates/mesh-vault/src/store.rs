//! Where the vault keeps what it has: sealed credentials, the nodes' keys, the versions ever given.
//!
//! [`RedbStore`] is the real one: one file, 0600, and a commit is on the disk before it returns,
//! because a secret that was answered once and is forgotten by a power cut would be made again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mesh_model::key::{CredentialKey, KeyError};
use mesh_model::name::{NameError, NodeName};
use mesh_seal::Recipient;

use crate::credential::Credential;
use crate::escrow::{Confirmed, Standing};
use crate::plan::{Kept, Pins};
use crate::rotation::{Rotation, RotationName, Turn};

mod journaled;
mod noted;
mod redb;

pub use journaled::{Followed, Journal};
pub use redb::RedbStore;

/// Where the store is in the vault's folder.
#[must_use]
pub fn store_file(folder: &Path) -> PathBuf {
    folder.join("vault.redb")
}

#[cfg(test)]
mod memory;
#[cfg(test)]
pub(crate) use memory::MemoryStore;

/// What the vault needs of a place to keep things. Each call is whole or not at all.
pub trait Store: Send + Sync {
    /// The sealing key of every node.
    fn pins(&self) -> Result<Pins, StoreError>;

    /// Keeps a node's first key; a later one changes nothing.
    fn pin(&self, node: &NodeName, recipient: &Recipient) -> Result<Pinned, StoreError>;

    /// Forgets a node's key, so that it may join anew.
    fn unpin(&self, node: &NodeName) -> Result<(), StoreError>;

    /// The live credentials of every key, the newest last. A key without any is not in it.
    fn kept(&self) -> Result<Kept, StoreError>;

    /// The live credentials of one key, the newest last.
    fn kept_of(&self, key: &CredentialKey) -> Result<Vec<Credential>, StoreError>;

    /// The same, and between which two its consumer is, if it is; both as of one moment.
    fn live(&self, key: &CredentialKey) -> Result<Live, StoreError>;

    /// The last rotation of each name.
    fn rotations(&self) -> Result<Rotations, StoreError>;

    /// The highest number ever given under a key, to a version or to a turn; 0 for none. Dropping does not lower it.
    fn highest(&self, key: &CredentialKey) -> Result<u64, StoreError>;

    /// The escrow recipients that were confirmed.
    fn confirmed(&self) -> Result<Confirmed, StoreError>;

    /// Does all of the changes, or none. On the disk before it returns.
    fn commit(&self, changes: &[Change]) -> Result<(), StoreError>;
}

/// One change of what is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// This credential in the place of all there are under the key.
    Replace(CredentialKey, Credential),
    /// This credential beside those there are under the key, as the newest.
    Add(CredentialKey, Credential),
    /// The one of this id is no longer live.
    Retire(CredentialKey, String),
    /// None any more under the key.
    Drop(CredentialKey),
    /// This escrow recipient is confirmed, and stands so.
    Confirm(Recipient, Standing),
    /// This one is confirmed no longer.
    Unconfirm(Recipient),
    /// How far a rotation has come, in the place of what was known of one of its name.
    Rotate(Rotation),
    /// Nothing is known of a rotation any more.
    Forget(RotationName),
}

/// The last rotation of each name.
pub type Rotations = BTreeMap<RotationName, Rotation>;

/// What is live under a key at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Live {
    /// The newest last.
    pub credentials: Vec<Credential>,
    /// Between which two its consumer is.
    pub turn: Option<Turn>,
}

/// What came of pinning a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pinned {
    /// It is the node's first.
    First,
    /// It is the one that the node has already.
    Same,
    /// The node has this other one, and keeps it.
    Another(Recipient),
}

/// The store could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file could not be made or opened as a file.
    #[error("the vault's store {path} could not be opened")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is gone, and was there once.
    #[error("the vault's store {path} is gone: with it went every secret that it kept")]
    Gone {
        /// Which.
        path: PathBuf,
    },
    /// The file is no store, or another program has it open.
    #[error("the vault's store {path} could not be opened as a database")]
    Open {
        /// Which.
        path: PathBuf,
        /// What the database said.
        source: Box<::redb::Error>,
    },
    /// The file is of a newer program.
    #[error("the vault's store {path} is of shape {found}, and this program knows shape {known}")]
    Shape {
        /// Which.
        path: PathBuf,
        /// What it says.
        found: u64,
        /// What this program writes.
        known: u64,
    },
    /// Something could not be read or written.
    #[error("the vault's store failed when {doing}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// What the database said.
        source: Box<::redb::Error>,
    },
    /// It is not in the log, or nobody knows whether it is.
    #[error("the vault's store cannot be followed by who stands by")]
    Journal {
        /// Why.
        source: mesh_bus::journal::JournalError,
    },
    /// A row of the log is of no table.
    #[error("the vault's log has a row {key}, which this program cannot read")]
    Row {
        /// Which.
        key: String,
    },
    /// What is kept under a key is no credentials.
    #[error("the vault's store holds something unreadable under {key}")]
    Credentials {
        /// Which.
        key: String,
        /// Why it cannot be read.
        source: serde_json::Error,
    },
    /// A key in it is no key.
    #[error("the vault's store holds the key {key}, which is none")]
    Key {
        /// Which.
        key: String,
        /// Why it is none.
        source: KeyError,
    },
    /// What is kept of a rotation is none.
    #[error("the vault's store holds something unreadable of the rotation of {name}")]
    Rotation {
        /// Of what.
        name: String,
        /// Why it cannot be read.
        source: serde_json::Error,
    },
    /// A node in it is no name.
    #[error("the vault's store holds a sealing key for a node whose name is none")]
    Node {
        /// Why it is none.
        source: NameError,
    },
    /// An escrow recipient in it is none, or how it stands cannot be read.
    #[error("the vault's store holds {recipient} as an escrow recipient, which cannot be read")]
    Escrow {
        /// Which.
        recipient: String,
    },
    /// A node's key in it is no key.
    #[error("the vault's store holds an unreadable sealing key for {node}")]
    Recipient {
        /// Whose.
        node: NodeName,
        /// Why.
        source: mesh_seal::ParseError,
    },
}

#[cfg(test)]
mod tests;

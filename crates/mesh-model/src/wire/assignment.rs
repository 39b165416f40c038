//! `mesh-controller_assignments`: everything that a module on a node is to do, with nothing left to decide.
//!
//! `digest` is of all that it says but the plan that it came from: a node that has applied it does nothing when another
//! plan says the same.
//!
//! What is the same in many of them is shared: a plan holds one for each module on each node.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::V1;
use crate::digest::Digest;
use crate::name::{
    CollectionName, DirName, FieldName, FilePath, LocalName, ModuleName, NodeName, PortName, ProvisionName,
    SeatName, SecretName, ServiceName,
};

/// What one module on one node is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The version of this shape.
    pub v: V1,
    /// The id of the plan that first said this.
    pub plan: Digest,
    /// The digest of everything else here.
    pub digest: Digest,
    /// The node.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
    /// The digest of its manifest.
    pub manifest: Digest,
    /// This node.
    pub machine: Machine,
    /// The module's own folder on the node: an absolute path. Its files are in `files` below it.
    pub folder: String,
    /// Its ports.
    pub ports: BTreeMap<PortName, u16>,
    /// Its folders.
    pub dirs: BTreeMap<DirName, Dir>,
    /// `host:port` for each `access` that it asks for, by how it is written: `notes.http`, `notes@attic.http`.
    pub access: BTreeMap<String, String>,
    /// The node that holds each seat that it asks for.
    pub seats: BTreeMap<SeatName, NodeName>,
    /// The digest of its settings, which are in the bucket `mesh-controller_config`.
    pub settings: Digest,
    /// Its files, by their path in `files`.
    pub files: Arc<BTreeMap<FilePath, File>>,
    /// Its services, in the order in which they start, placeholders unresolved.
    pub run: Arc<IndexMap<ServiceName, Run>>,
    /// What it adds to collections, resolved.
    pub contributes: BTreeMap<CollectionName, Vec<String>>,
    /// The secrets of its own.
    pub secrets: BTreeMap<SecretName, SecretSpec>,
    /// The provisions that it needs.
    pub needs: Vec<Need>,
    /// The provisions that it provides.
    pub provides: BTreeMap<ProvisionName, Provided>,
    /// Who consumes them.
    pub consumers: Vec<Consumer>,
}

impl Assignment {
    /// Fills in `digest`, of what it says: of all but `plan` and `digest`. Returns how many bytes it has as JSON.
    pub fn note_digest(&mut self) -> u64 {
        let nothing = Digest::of(b"");
        let plan = std::mem::replace(&mut self.plan, nothing.clone());
        self.digest = nothing;
        let (digest, length) = Digest::of_json_and_length(self);
        (self.plan, self.digest) = (plan, digest);
        length
    }
}

/// A machine, as others reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The node's name.
    pub name: NodeName,
    /// Its address; absent where the description gives none and nobody needs it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
}

/// A folder of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dir {
    /// An absolute path.
    pub path: String,
    /// Whether it is emptied at each start.
    #[serde(default)]
    pub temporary: bool,
}

/// A file of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The digest of its template, which is in the bucket `mesh-controller_files`.
    pub digest: Digest,
    /// Its length in bytes: it is kept in parts of 256 KiB.
    pub size: u64,
    /// Its mode, as octal digits: `0600`.
    pub mode: String,
    /// What happens to the services that use it when it changes.
    pub on_change: OnChange,
    /// Whether it is written as it is, without looking for placeholders.
    #[serde(default)]
    pub verbatim: bool,
}

/// What happens when a file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnChange {
    /// The services of the module that name the file are restarted; all of them where none does.
    #[default]
    Restart,
    /// They are sent SIGHUP.
    Reload,
    /// Nothing.
    Nothing,
}

/// A service, placeholders unresolved.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Run {
    /// Run to the end before the service.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub prepare: Vec<Prepare>,
    /// The program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub exec: Vec<String>,
    /// Or a container.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub image: Option<Image>,
    /// Its environment.
    #[serde(skip_serializing_if = "IndexMap::is_empty", default)]
    pub env: IndexMap<String, String>,
    /// Whom it runs as, when started by root.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub user: Option<String>,
    /// How to tell whether it is well.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub health: Option<Health>,
    /// What happens when it ends.
    #[serde(default)]
    pub restart: Restart,
    /// The signal that ends it: `SIGTERM` where it is left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stop_signal: Option<String>,
}

/// A container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The image's name.
    pub name: String,
    /// The arguments of its entry point.
    #[serde(default)]
    pub args: Vec<String>,
    /// Folders of the host that it sees, at the same path.
    #[serde(default)]
    pub mounts: Vec<String>,
}

/// A command that is run to the end before a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepare {
    /// The program and its arguments.
    pub exec: Vec<String>,
    /// Where this exists, it is skipped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub creates: Option<String>,
}

/// How to tell whether a service is well. Each holds placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// A GET of this URL answers with 2xx or 3xx.
    Http(String),
    /// This port of this machine, or this `host:port`, accepts a connection.
    Tcp(String),
    /// This command ends with 0.
    Exec(Vec<String>),
}

/// What happens when a service ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// It is started again.
    #[default]
    Always,
    /// It is started again unless it ended with 0.
    OnFailure,
    /// It is left.
    Never,
}

/// How a secret is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretSpec {
    /// Its length in characters, 16 to 256.
    pub length: u16,
    /// What it is made of.
    pub alphabet: Alphabet,
    /// Not made, but set by an operator.
    #[serde(default)]
    pub supplied: bool,
}

/// What a secret is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alphabet {
    /// `A-Z a-z 0-9`
    #[default]
    Alphanumeric,
    /// `0-9 a-f`
    Hex,
    /// `A-Z a-z 0-9 - _`
    Base64url,
}

/// A module on a node that provides something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Provider {
    /// The module.
    pub module: ModuleName,
    /// Its node.
    pub node: NodeName,
}

/// A provision that a module needs, and who answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// The consumer's own name for it.
    pub local: LocalName,
    /// What it needs.
    pub provision: ProvisionName,
    /// Who provides it.
    pub from: Provider,
    /// What it hands to the provider.
    pub contribution: Arc<Map<String, Value>>,
    /// What the contribution and its machine say: the answer names it.
    pub revision: Digest,
    /// What the provider gives.
    pub gives: Arc<BTreeMap<FieldName, Give>>,
}

impl Need {
    /// Whether there is a credential: whether any field is a secret of its own.
    #[must_use]
    pub fn has_credential(&self) -> bool {
        self.gives.values().any(|give| matches!(give, Give::Secret { .. }))
    }
}

/// A field that a provider gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "lowercase")]
pub enum Give {
    /// The provider answers it.
    Value,
    /// The vault makes it.
    Secret {
        /// Its length in characters.
        length: u16,
        /// What it is made of.
        alphabet: Alphabet,
    },
    /// It is put together from others on the consumer's node.
    From {
        /// The template, in which `gives.<field>` and `consumer.…` stand.
        template: String,
        /// Whether a secret goes into it, directly or not.
        secret: bool,
    },
}

/// A provision that a module provides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provided {
    /// Where its provisioner writes its answers: an absolute path.
    pub answers: String,
    /// What it gives.
    pub gives: Arc<BTreeMap<FieldName, Give>>,
}

/// A consumer of a provision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Consumer {
    /// What it needs.
    pub provision: ProvisionName,
    /// Its node.
    pub node: NodeName,
    /// The consumer.
    pub module: ModuleName,
    /// Its own name for the provision.
    pub local: LocalName,
    /// Its machine.
    pub machine: Machine,
    /// What it hands over.
    pub contribution: Arc<Map<String, Value>>,
    /// What the contribution and its machine say.
    pub revision: Digest,
}

/// The revision of a contribution: of what it says, of its machine, and of whom it is for.
#[must_use]
pub fn revision(
    provision: &ProvisionName,
    provider: &Provider,
    machine: &Machine,
    contribution: &Map<String, Value>,
) -> Digest {
    Digest::of_json(&(provision, provider, machine, contribution))
}

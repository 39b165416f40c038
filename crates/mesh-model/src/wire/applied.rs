//! `mesh-provisioner_applied`: what a node has really rendered and started of a module.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Timestamp, V1};
use crate::digest::Digest;
use crate::key::Entry;
use crate::kind::Kind;
use crate::name::{ModuleName, NodeName, ServiceName};

/// What came of one assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The version of this shape.
    pub v: V1,
    /// The node.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
    /// What came of it.
    pub state: AppliedState,
    /// What it waits for, where it waits.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub waiting_for: Vec<WaitingFor>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// The digest of the assignment that this is about.
    pub plan: Digest,
    /// The keyed digest of what was rendered; absent until something was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rendered: Option<String>,
    /// Its services.
    #[serde(default)]
    pub services: BTreeMap<ServiceName, Service>,
    /// The id of the credential that the running services were started with: of each need, and of each secret of the
    /// module's own.
    #[serde(default)]
    pub credentials: BTreeMap<Entry, String>,
    /// The number of what the vault offered when this was rendered, where it offered something for a while.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub turns: BTreeMap<Entry, u64>,
    /// Why a newer credential than the one in use is not accepted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub refused: BTreeMap<Entry, String>,
    /// When this became so.
    pub at: Timestamp,
}

/// What came of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AppliedState {
    /// Files written, and every service healthy or ended as it may.
    Applied,
    /// Something is not known yet, or not up yet.
    Waiting,
    /// Something went wrong, and is tried again.
    Failed,
    /// It is being taken back.
    Withdrawn,
}

/// One thing that a module waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingFor {
    /// Its kind.
    pub kind: Kind,
    /// Its name within the kind.
    pub name: String,
    /// Why it is not there.
    pub why: String,
}

/// A service, as the host sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// What it is doing.
    pub state: ServiceState,
    /// How often it was started again since it was last set up.
    pub restarts: u32,
    /// Why it is not well.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
}

/// What a service is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceState {
    /// It runs, and is healthy where it says how to tell.
    Running,
    /// It was started and is not healthy yet.
    Starting,
    /// It runs and is not healthy.
    Unhealthy,
    /// It ended, as it may, or was stopped.
    Stopped,
    /// It cannot be started, or ends again and again.
    Failed,
}

//! What operators and nodes ask the controller: `mesh-controller.upload`, `plan`, `apply`, `status`, and
//! `mesh-controller.enroll.<node>`, `mesh-controller.facts.<node>`. Which node asks stands in the subject.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Timestamp, V1};
use crate::digest::Digest;
use crate::name::{ModuleName, NodeName, ServiceName};
use crate::refusal::Refusal;

/// How long a part of a file is, but for the last: in bytes.
pub const PART: usize = 256 * 1024;

/// A content, by what it says and how long it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Listed {
    /// Its digest.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
}

impl Listed {
    /// How many parts it is kept in: at least one.
    #[must_use]
    pub fn parts(&self) -> u64 {
        self.size.div_ceil(PART as u64).max(1)
    }
}

/// The listing of a mesh description's folder: all that planning reads but for the texts, which were uploaded before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Listing {
    /// Every file, by its path with `/` between the parts.
    pub files: BTreeMap<String, Listed>,
    /// The modules that are not in the folder, but came with the program.
    #[serde(default)]
    pub shipped: BTreeSet<ModuleName>,
}

/// Asks which contents are missing, or hands over a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UploadAsk {
    /// Which of these are missing?
    Have {
        /// The contents.
        have: Vec<Listed>,
    },
    /// Here is a part.
    Part {
        /// The digest of the whole content.
        digest: Digest,
        /// Which part, from 0.
        part: u64,
        /// How many parts there are.
        parts: u64,
        /// The bytes, in base64: [`PART`] of them, but for the last part.
        data: String,
    },
}

/// What is missing of what was asked about; of a part that was handed over, its own digest until the content is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadAnswer {
    /// The version of this shape.
    pub v: V1,
    /// The contents that are not whole.
    pub missing: Vec<Digest>,
}

/// Asks what a description would come to, or (`mesh-controller.apply`) lets it take effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyAsk {
    /// The description. Its texts must have been uploaded; for `apply`, all of its files.
    pub description: Listing,
    /// For `apply`: the plan that was in effect when the operator looked; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub follows: Option<Digest>,
}

/// What a description comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyAnswer {
    /// The version of this shape.
    pub v: V1,
    /// What came of it.
    pub effect: Effect,
    /// The id of the plan that it comes to; absent where it is refused.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<Digest>,
    /// The plan that was in effect before: what `follows` of an `apply` must be.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub follows: Option<Digest>,
    /// What could never work.
    pub refusals: Vec<Refusal>,
    /// What works and may not be meant.
    pub warnings: Vec<Refusal>,
    /// What it changes.
    pub changes: Vec<Change>,
}

/// What came of a description that was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It has refusals, and nothing was done.
    Refused,
    /// It was only asked about.
    Planned,
    /// It says what is in effect already: nothing was done.
    Unchanged,
    /// It has taken effect.
    Applied,
}

/// What a plan changes for one module on one node: what `mesh_plan::diff` says, in the words of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The node.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
    /// What happens to it.
    pub change: ChangeKind,
    /// What is different, a line each.
    pub why: Vec<String>,
    /// What happens to its services: `start`, `stop`, `restart`, `reload`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub services: BTreeMap<ServiceName, String>,
    /// What happens to its secrets and credentials, by `secret.<name>` and by the name of the need: `made`, `kept`,
    /// `remade`, `withdrawn`, `supplied`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub credentials: BTreeMap<String, String>,
    /// What stays behind.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub stays: Vec<String>,
}

/// What happens to a module on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It begins to run there.
    Add,
    /// Something about it changes.
    Change,
    /// It ends there.
    Remove,
    /// Nothing.
    None,
}

/// How the control plane stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusAnswer {
    /// The version of this shape.
    pub v: V1,
    /// The plan in effect.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<PlanTold>,
    /// Whether the buckets say what the plan says.
    pub in_step: bool,
    /// Why they do not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// The nodes that the plan has or that have joined.
    pub nodes: Vec<NodeTold>,
}

/// The plan in effect, told to people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTold {
    /// Its id.
    pub id: Digest,
    /// The digest of its description.
    pub description: Digest,
    /// Who applied it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// A node, as the controller knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeTold {
    /// The node.
    pub node: NodeName,
    /// Whether the plan in effect has it.
    pub planned: bool,
    /// Whether it has joined.
    pub joined: bool,
    /// The folder that it keeps everything under.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub root: Option<String>,
    /// When it last told its facts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seen: Option<Timestamp>,
}

/// A node shows the public half of its bus key, which it made itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnrollAsk {
    /// `U…`
    pub user: String,
}

/// What lets the node in from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnrollAnswer {
    /// The version of this shape.
    pub v: V1,
    /// The node.
    pub node: NodeName,
    /// The token of its key, signed.
    pub token: String,
}

/// What a node tells of its machine, when it starts and when it changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeFacts {
    /// The folder that it keeps everything under: an absolute path.
    pub root: String,
    /// The TCP ports that something outside the mesh holds, by the address of the machine that it listens on.
    #[serde(default)]
    pub held: BTreeMap<String, BTreeSet<u16>>,
}

/// What a node told of its machine is known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FactsAnswer {
    /// The version of this shape.
    pub v: V1,
}

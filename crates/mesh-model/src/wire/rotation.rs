//! `mesh-vault.rotate`: credentials that are replaced one consumer after the other, and how far that has come.
//!
//! The same is told in `mesh-vault.list`, so that whoever looks later sees what whoever asked saw.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::V1;
use crate::key::Entry;
use crate::name::{ModuleName, NodeName};

/// Asks for a rotation, or what becomes of one that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RotateAsk {
    /// The module whose credential it is.
    pub module: ModuleName,
    /// The local of a need, or `secret.<name>`. A secret may be asked for by its name alone, where no need is called so.
    pub name: String,
    /// What is to be done.
    #[serde(rename = "do")]
    pub order: RotateOrder,
}

/// What is to be done about a rotation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RotateOrder {
    /// Begin one.
    Start {
        /// Chosen by whoever asks: who asks again with the same one has asked once.
        id: String,
        /// On this node alone.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        node: Option<NodeName>,
        /// How many consumers may be between two credentials at once; at least one.
        at_once: u16,
        /// For so many seconds a consumer may be unwell, or a credential refused, before the rotation stops.
        patience: u32,
        /// For so many seconds nothing may come of a consumer at all.
        deadline: u32,
    },
    /// Go on with one that has stopped.
    Resume,
    /// Give it up: consumers that are between two go back to the one before.
    Abandon,
}

/// How far a rotation has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RotateAnswer {
    /// The version of this shape.
    pub v: V1,
    /// The rotation.
    pub rotation: RotationTold,
}

/// A rotation, told to people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RotationTold {
    /// Its id.
    pub id: String,
    /// The module.
    pub module: ModuleName,
    /// Which of its credentials.
    pub name: Entry,
    /// How it is.
    pub state: RotationState,
    /// Why it came about.
    pub cause: String,
    /// How many consumers may be between two at once.
    pub at_once: u16,
    /// Where it has stopped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<NodeName>,
    /// Why it has stopped, or why it does not get on at the moment.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// Consumers that are between two credentials.
    pub between: Vec<BetweenTold>,
    /// Nodes whose consumer is still to come, or was left where the rotation was given up.
    pub remaining: BTreeSet<NodeName>,
    /// Nodes whose consumer has the new one alone.
    pub done: BTreeSet<NodeName>,
}

/// How a rotation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RotationState {
    /// It goes on.
    Running,
    /// It goes back to the former ones.
    Abandoning,
    /// Something went wrong: both credentials are good until somebody decides.
    Stopped,
    /// Everybody has the new one.
    Done,
    /// It was given up: nobody is between two any more.
    Abandoned,
}

/// A consumer that is between two credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BetweenTold {
    /// Its node.
    pub node: NodeName,
    /// The id of the one that it has had.
    pub from: String,
    /// The id of the one that it is to have.
    pub to: String,
    /// What is waited for.
    pub why: String,
}

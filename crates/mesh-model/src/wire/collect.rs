//! `mesh-provisioner_collect`: what one module on a node adds to a collection.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Machine, V1};
use crate::digest::Digest;
use crate::name::{CollectionName, LocalName, ModuleName, NodeName};

/// The items of one contributor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Collect {
    /// The version of this shape.
    pub v: V1,
    /// The node.
    pub node: NodeName,
    /// The collection, by its name.
    pub collection: CollectionName,
    /// The module that the items came from.
    pub contributor: ModuleName,
    /// The items: text; in `contribution:<provision>` a [`Contribution`] each.
    pub items: Vec<Value>,
}

/// What a consumer hands to a provider, once its node has taken up the assignment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contribution {
    /// The consumer's own name for the provision.
    pub local: LocalName,
    /// Which provider it is for.
    pub provider: super::Provider,
    /// The consumer's machine.
    pub machine: Machine,
    /// The fields.
    pub contribution: Arc<Map<String, Value>>,
    /// What this says, so that an answer to another one is told apart.
    pub revision: Digest,
}

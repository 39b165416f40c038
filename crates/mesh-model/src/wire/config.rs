//! `mesh-controller_config`: the settings of a module on a node.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::V1;
use crate::digest::Digest;
use crate::name::{ModuleName, NodeName, SettingName};

/// Every setting of one module on one node, defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The version of this shape.
    pub v: V1,
    /// The node.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
    /// The settings: text, a number, true or false, or a list.
    pub values: BTreeMap<SettingName, Value>,
}

impl Config {
    /// What the settings say: an assignment names it, so that a node renders the two together or not at all.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_json(&self.values)
    }
}

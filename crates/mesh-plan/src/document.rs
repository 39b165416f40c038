//! A plan as a document that says all of it: what a later plan is compared with where there is no bus to ask.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::NodeName;
use mesh_model::wire::{Assignment, Config, Placement, PlanRecord, Timestamp, V1};
use serde::{Deserialize, Serialize};

use crate::description::Facts;
use crate::plan::Plan;

/// A plan, whole: what every module on every node is to do, and what was decided once and is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The version of this shape.
    pub v: V1,
    /// The digest of what it says.
    pub id: Digest,
    /// The digest of the description's listing.
    pub description: Digest,
    /// What is decided once and kept, for each `<module>@<node>`.
    pub placement: BTreeMap<String, Placement>,
    /// The folder that each node keeps everything under.
    pub roots: BTreeMap<NodeName, String>,
    /// The ports of each address that something outside the mesh held.
    #[serde(default)]
    pub held: BTreeMap<String, BTreeSet<u16>>,
    /// The age recipients to whom every secret is to be sealed too.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub escrow: Vec<String>,
    /// What every module on every node is to do.
    pub assignments: Vec<Assignment>,
    /// The settings of every module on every node.
    pub settings: Vec<Config>,
}

impl Document {
    /// Of a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self {
            v: V1,
            id: plan.id.clone(),
            description: plan.description.clone(),
            placement: plan.placement.clone(),
            roots: plan.roots.clone(),
            held: plan.held.clone(),
            escrow: plan.escrow.clone(),
            assignments: plan.assignments.values().cloned().collect(),
            settings: plan.settings.values().cloned().collect(),
        }
    }

    /// What a plan that follows it is made with: what it decided, and what was known of the machines. Who applied it, and
    /// when, does not stand in a document.
    #[must_use]
    pub fn record(&self, by: &str, at: Timestamp) -> (PlanRecord, Facts) {
        let record = PlanRecord {
            v: V1,
            id: self.id.clone(),
            follows: None,
            description: self.description.clone(),
            placement: self.placement.clone(),
            roots: self.roots.clone(),
            held: self.held.clone(),
            escrow: self.escrow.clone(),
            by: by.to_owned(),
            at,
        };
        let facts = Facts { roots: self.roots.clone(), held: self.held.clone(), ..Facts::default() };
        (record, facts)
    }

    /// What is compared: assignments and settings, by module on a node.
    #[must_use]
    pub fn into_parts(self) -> (BTreeMap<ModuleKey, Assignment>, BTreeMap<ModuleKey, Config>) {
        let assignments = self
            .assignments
            .into_iter()
            .map(|one| (ModuleKey { node: one.node.clone(), module: one.module.clone() }, one));
        let settings = self
            .settings
            .into_iter()
            .map(|one| (ModuleKey { node: one.node.clone(), module: one.module.clone() }, one));
        (assignments.collect(), settings.collect())
    }
}

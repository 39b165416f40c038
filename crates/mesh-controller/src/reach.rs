//! What each node reaches beyond itself, as the assignments have it. Pure: grants follow from this and from nothing else.

use std::collections::{BTreeMap, BTreeSet};

use mesh_bus::grants::{Answered, NodeReach, Provides};
use mesh_model::key::{BoundKey, ModuleKey};
use mesh_model::name::{ModuleName, NodeName};
use mesh_model::wire::Assignment;

/// Every assignment of a plan.
pub type Assignments = BTreeMap<ModuleKey, Assignment>;

/// The modules that provide something: each has a bucket for its answers.
#[must_use]
pub fn providers(assignments: &Assignments) -> BTreeSet<ModuleName> {
    assignments.values().filter(|a| !a.provides.is_empty()).map(|a| a.module.clone()).collect()
}

/// The keys of a provider's bucket that the plan has an answer for, whichever node gives it.
#[must_use]
pub fn answered(assignments: &Assignments) -> BTreeMap<ModuleName, BTreeSet<BoundKey>> {
    let mut all: BTreeMap<ModuleName, BTreeSet<BoundKey>> = BTreeMap::new();
    for assignment in assignments.values().filter(|a| !a.provides.is_empty()) {
        all.entry(assignment.module.clone()).or_default().extend(consumers(assignment));
    }
    all
}

fn consumers(assignment: &Assignment) -> impl Iterator<Item = BoundKey> {
    assignment.consumers.iter().map(|consumer| BoundKey {
        node: consumer.node.clone(),
        module: consumer.module.clone(),
        provision: consumer.provision.clone(),
        local: consumer.local.clone(),
    })
}

/// What one node reaches: the answers to its modules' needs, the consumers of what its modules provide, and the contents of
/// their files.
#[must_use]
pub fn node(node: &NodeName, assignments: &Assignments) -> NodeReach {
    let mut reach = NodeReach::default();
    for assignment in assignments.values().filter(|a| a.node == *node) {
        reach.providers.extend(assignment.needs.iter().map(|need| need.from.module.clone()));
        reach.files.extend(assignment.files.values().map(|file| file.digest.clone()));
        if !assignment.provides.is_empty() {
            reach.provides.push(provides(assignment, assignments));
        }
    }
    reach
}

fn provides(assignment: &Assignment, assignments: &Assignments) -> Provides {
    let runs_on = assignments.values().filter(|a| a.module == assignment.module).count();
    let answers =
        if runs_on == 1 { Answered::Everybody } else { Answered::Only(consumers(assignment).collect()) };
    let provisions = assignment.provides.keys().cloned().collect();
    Provides { module: assignment.module.clone(), provisions, answers }
}

#[cfg(test)]
mod tests;

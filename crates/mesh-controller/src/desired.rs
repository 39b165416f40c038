//! What the bus is to say, as the plan in effect has it: the rules of the mirror, as data.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use mesh_bus::Account;
use mesh_bus::grants::{Grants, OperatorReach, Right};
use mesh_model::digest::Digest;
use mesh_model::key::{BoundKey, ModuleKey};
use mesh_model::name::{ModuleName, NodeName, OperatorName};
use mesh_plan::{Content, Plan};
use serde::Serialize;

use crate::reach;

/// A value as it is to be written, and the digest by which it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The digest.
    pub digest: Digest,
    /// What is written.
    pub bytes: Bytes,
}

/// What a plan asks of the bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The plan.
    pub plan: Digest,
    /// The assignments; compared by the digest that they name.
    pub assignments: BTreeMap<ModuleKey, Value>,
    /// The settings; compared by the digest of what is written.
    pub settings: BTreeMap<ModuleKey, Value>,
    /// The consumers of each that has any.
    pub consumers: BTreeMap<ModuleKey, BTreeSet<ModuleKey>>,
    /// Contents that stand in manifests, and so were not handed over as files.
    pub contents: BTreeMap<Digest, Bytes>,
    /// The modules that provide something, each with the consumers that it answers.
    pub providers: BTreeMap<ModuleName, BTreeSet<BoundKey>>,
    /// The nodes of the mesh.
    pub nodes: BTreeSet<NodeName>,
}

/// What the bus is to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Desired {
    /// What the plan asks; none where no plan is in effect, and nothing is touched then but accounts.
    pub said: Option<Said>,
    /// The rights of everybody who has joined.
    pub grants: BTreeMap<Account, Vec<Right>>,
}

/// Who has joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Joined {
    /// Nodes.
    pub nodes: BTreeSet<NodeName>,
    /// Operators.
    pub operators: BTreeSet<OperatorName>,
}

impl Desired {
    /// What follows from a plan and from who has joined.
    #[must_use]
    pub fn of(plan: Option<&Plan>, joined: &Joined) -> Self {
        let nothing = BTreeMap::new();
        let assignments = plan.map_or(&nothing, |plan| &plan.assignments);
        let operators =
            OperatorReach { providers: reach::providers(assignments), ..OperatorReach::default() };
        let nodes = joined.nodes.iter().map(|node| Grants::of_node(node, &reach::node(node, assignments)));
        let operators = joined.operators.iter().map(|name| Grants::of_operator(name, &operators));
        let grants = nodes.chain(operators).map(|grants| (grants.account, grants.rights)).collect();
        Self { said: plan.map(Said::of), grants }
    }
}

impl Said {
    fn of(plan: &Plan) -> Self {
        let assigned = |(key, assignment): (&ModuleKey, &mesh_model::wire::Assignment)| {
            (key.clone(), Value { digest: assignment.digest.clone(), bytes: json(assignment) })
        };
        let set = |(key, config): (&ModuleKey, &mesh_model::wire::Config)| {
            let bytes = json(config);
            (key.clone(), Value { digest: Digest::of(&bytes), bytes })
        };
        let inline = |(digest, content): (&Digest, &Content)| match content {
            Content::Inline(bytes) => Some((digest.clone(), Bytes::copy_from_slice(bytes))),
            Content::File(_) => None,
        };
        let consumers = |(key, assignment): (&ModuleKey, &mesh_model::wire::Assignment)| {
            let all = assignment.consumers.iter();
            let all = all.map(|one| ModuleKey { node: one.node.clone(), module: one.module.clone() });
            (!assignment.consumers.is_empty()).then(|| (key.clone(), all.collect()))
        };
        Self {
            plan: plan.id.clone(),
            consumers: plan.assignments.iter().filter_map(consumers).collect(),
            assignments: plan.assignments.iter().map(assigned).collect(),
            settings: plan.settings.iter().map(set).collect(),
            contents: plan.contents.iter().filter_map(inline).collect(),
            providers: reach::answered(&plan.assignments),
            nodes: nodes(plan),
        }
    }
}

fn nodes(plan: &Plan) -> BTreeSet<NodeName> {
    plan.nodes.keys().cloned().collect()
}

fn json<T: Serialize>(value: &T) -> Bytes {
    serde_json::to_vec(value).expect("plain data serializes").into()
}

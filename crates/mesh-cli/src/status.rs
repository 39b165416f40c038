//! How the mesh stands: what is assigned, and what came of it, put side by side.
//!
//! Pure: [`Status::of`] takes what the controller, the assignments and the nodes say. It is the document of
//! `mesh status --format json`, and what `--wait` waits for is [`Status::settled`].

use std::collections::BTreeMap;

use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::{ModuleName, NodeName, PortName, ServiceName};
use mesh_model::wire::{
    Applied, AppliedState, NodeTold, PlanTold, RotationTold, Service, StatusAnswer, Timestamp, WaitingFor,
};
use serde::{Deserialize, Serialize};

use crate::rotation::is_over;

mod words;

/// How the mesh stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Status {
    /// The plan in effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<PlanTold>,
    /// Whether everything that the plan says is applied, and nothing else.
    pub(crate) settled: bool,
    /// Why the controller has not handed the plan to the nodes yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    /// The nodes, by name.
    pub(crate) nodes: Vec<NodeStatus>,
    /// Rotations that are under way or have stopped; absent where the vault does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rotations: Option<Vec<RotationTold>>,
}

/// A node and what runs on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NodeStatus {
    pub(crate) node: NodeName,
    /// Whether the plan in effect has it.
    pub(crate) planned: bool,
    /// Whether it has joined.
    pub(crate) joined: bool,
    /// When it last told of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seen: Option<Timestamp>,
    /// Its modules, by name.
    pub(crate) modules: Vec<ModuleStatus>,
}

/// A module on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ModuleStatus {
    pub(crate) module: ModuleName,
    pub(crate) state: State,
    /// Why it is not applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    pub(crate) waiting_for: Vec<WaitingFor>,
    /// Where it listens.
    pub(crate) ports: BTreeMap<PortName, u16>,
    pub(crate) services: BTreeMap<ServiceName, Service>,
    /// Since when its node says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Timestamp>,
}

/// What came of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Its node has not taken it up yet.
    Assigned,
    Waiting,
    Applied,
    Failed,
    /// It is assigned no more, and not all taken back yet.
    Withdrawn,
}

impl State {
    /// The word for people.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Assigned => "assigned",
            Self::Waiting => "waiting",
            Self::Applied => "applied",
            Self::Failed => "failed",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// What is assigned: for each module on a node, what of its assignment is told.
pub(crate) type Assigned = BTreeMap<ModuleKey, Placed>;

/// What is told of an assignment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Placed {
    /// The digest of what it says.
    pub(crate) digest: Digest,
    /// Where the module listens.
    #[serde(default)]
    pub(crate) ports: BTreeMap<PortName, u16>,
}

impl Status {
    /// Puts side by side what the controller says, what is assigned and what the nodes say.
    pub(crate) fn of(controller: StatusAnswer, assigned: &Assigned, applied: Vec<Applied>) -> Self {
        let key = |told: &Applied| ModuleKey { node: told.node.clone(), module: told.module.clone() };
        let mut told: BTreeMap<ModuleKey, Applied> = applied.into_iter().map(|a| (key(&a), a)).collect();
        let mut nodes: BTreeMap<NodeName, NodeStatus> =
            controller.nodes.into_iter().map(|node| (node.node.clone(), NodeStatus::new(node))).collect();
        for (key, placed) in assigned {
            let node = nodes.entry(key.node.clone()).or_insert_with(|| NodeStatus::unknown(&key.node));
            let module = node.module(&key.module, placed, told.remove(key));
            node.modules.push(module);
        }
        // Nothing assigns these any more.
        for (key, told) in told {
            let node = nodes.entry(key.node.clone()).or_insert_with(|| NodeStatus::unknown(&key.node));
            node.modules.push(ModuleStatus::said(told, State::Withdrawn));
            node.modules.sort_by(|a, b| a.module.cmp(&b.module));
        }
        let nodes: Vec<NodeStatus> = nodes.into_values().collect();
        let all_applied = nodes.iter().flat_map(|n| &n.modules).all(|m| m.state == State::Applied);
        let why = (!controller.in_step)
            .then(|| controller.why.unwrap_or_else(|| "the plan is being handed to the nodes".to_owned()));
        let settled = controller.in_step && all_applied;
        Self { plan: controller.plan, settled, why, nodes, rotations: None }
    }

    /// With the rotations that the vault tells of.
    pub(crate) fn with_rotations(self, told: Option<Vec<RotationTold>>) -> Self {
        let under_way = |told: Vec<RotationTold>| told.into_iter().filter(|one| !is_over(one)).collect();
        Self { rotations: told.map(under_way), ..self }
    }

    /// Every module with its node.
    pub(crate) fn modules(&self) -> impl Iterator<Item = (&NodeName, &ModuleStatus)> {
        self.nodes.iter().flat_map(|node| node.modules.iter().map(|module| (&node.node, module)))
    }
}

impl NodeStatus {
    fn new(told: NodeTold) -> Self {
        let NodeTold { node, planned, joined, seen, .. } = told;
        Self { node, planned, joined, seen, modules: Vec::new() }
    }

    fn unknown(node: &NodeName) -> Self {
        Self { node: node.clone(), planned: false, joined: false, seen: None, modules: Vec::new() }
    }

    fn module(&self, module: &ModuleName, placed: &Placed, told: Option<Applied>) -> ModuleStatus {
        let state = |told: &Applied| match told.state {
            AppliedState::Applied => State::Applied,
            AppliedState::Waiting => State::Waiting,
            AppliedState::Failed => State::Failed,
            AppliedState::Withdrawn => State::Withdrawn,
        };
        let ports = placed.ports.clone();
        let status = match told {
            Some(told) if told.plan == placed.digest => {
                let state = state(&told);
                ModuleStatus::said(told, state)
            }
            Some(told) => {
                let why = told.why.clone().filter(|_| told.state != AppliedState::Waiting);
                let why = why.or_else(|| Some("its node has not taken up the change yet".to_owned()));
                ModuleStatus { why, waiting_for: Vec::new(), ..ModuleStatus::said(told, State::Assigned) }
            }
            None => ModuleStatus {
                module: module.clone(),
                state: State::Assigned,
                why: Some(match self.joined {
                    true => "its node has not taken it up yet".to_owned(),
                    false => format!("node {} has not joined", self.node),
                }),
                waiting_for: Vec::new(),
                ports: BTreeMap::new(),
                services: BTreeMap::new(),
                at: None,
            },
        };
        ModuleStatus { ports, ..status }
    }
}

impl ModuleStatus {
    fn said(told: Applied, state: State) -> Self {
        let Applied { module, waiting_for, why, services, at, .. } = told;
        Self { module, state, why, waiting_for, ports: BTreeMap::new(), services, at: Some(at) }
    }

    /// Why it is not applied.
    pub(crate) fn reasons(&self) -> Vec<String> {
        reasons(&self.waiting_for, self.why.as_ref(), &self.services)
    }
}

/// Why a module is not applied: what it waits for, what failed, which service is not well.
pub(crate) fn reasons(
    waiting_for: &[WaitingFor],
    why: Option<&String>,
    services: &BTreeMap<ServiceName, Service>,
) -> Vec<String> {
    let waits = waiting_for.iter().map(|w| match w.why.starts_with("waiting for ") {
        true => w.why.clone(),
        false => format!("waiting for {} {}: {}", w.kind, w.name, w.why),
    });
    let mut reasons: Vec<String> = waits.chain(why.cloned()).collect();
    for (name, service) in services {
        let why = service.why.as_ref().filter(|why| !reasons.iter().any(|said| said.contains(*why)));
        if let Some(why) = why {
            reasons.push(format!("{name}: {why}"));
        }
    }
    reasons
}

#[cfg(test)]
mod tests;

//! What `mesh plan --format json` prints: the outcome in the shape of the contract.

use std::collections::BTreeMap;

use mesh_model::kind::Kind;
use mesh_model::name::{LocalName, MeshName, ModuleName, NodeName, PortName, ProvisionName};
use mesh_model::refusal::Refusal;
use mesh_model::wire::{Assignment, Provider};
use serde::Serialize;

use crate::diff::Change;
use crate::document::Document;
use crate::plan::Outcome;

/// The outcome of planning, for a program to read.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    mesh: Option<&'a MeshName>,
    ok: bool,
    refusals: &'a [Refusal],
    warnings: &'a [Refusal],
    changes: &'a [Change],
    assignments: Vec<Assigned<'a>>,
    /// The recipients of escrow, where there are any.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    escrow: &'a [Recipient],
    /// The plan as a whole, where this is to be compared with another one later.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Document>,
}

/// A recipient of escrow: what becomes of it with the plan, and what it can open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recipient {
    /// Its key.
    pub recipient: String,
    /// What becomes of it.
    pub state: Standing,
    /// What it cannot open, of what is live.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<Unreadable>,
}

/// What becomes of a recipient of escrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is confirmed: what is made is sealed to it too.
    Sealed,
    /// Nothing is sealed to it until it is confirmed on the server's machine.
    Waiting,
    /// The plan leaves it out: nothing more is sealed to it, and what it could open it can open still.
    LeftOut,
}

/// A secret that somebody cannot open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// The consumer's node, or the one that it belongs to.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
    /// The local of the need, or `secret.<name>`.
    pub name: String,
    /// Whether somebody has to set it, since the mesh does not make it.
    pub supplied: bool,
}

#[derive(Debug, Serialize)]
struct Assigned<'a> {
    node: &'a NodeName,
    module: &'a ModuleName,
    ports: &'a BTreeMap<PortName, u16>,
    needs: Vec<Needed<'a>>,
}

#[derive(Debug, Serialize)]
struct Needed<'a> {
    kind: Kind,
    name: &'a LocalName,
    provision: &'a ProvisionName,
    from: &'a Provider,
}

impl<'a> Report<'a> {
    /// Of an outcome, with what it would change where that is known.
    #[must_use]
    pub fn of(outcome: &'a Outcome, changes: &'a [Change]) -> Self {
        let Outcome { mesh, refusals, warnings, plan } = outcome;
        let assignments = plan.iter().flat_map(|plan| plan.assignments.values()).map(assigned).collect();
        let (mesh, ok, escrow) = (mesh.as_ref(), plan.is_some(), [].as_slice());
        Self { mesh, ok, refusals, warnings, changes, assignments, escrow, plan: None }
    }

    /// With how the recipients of escrow stand.
    #[must_use]
    pub fn with_escrow(self, escrow: &'a [Recipient]) -> Self {
        Self { escrow, ..self }
    }

    /// The same with the plan as a whole in it: what `mesh plan --against` reads.
    #[must_use]
    pub fn whole(outcome: &'a Outcome, changes: &'a [Change]) -> Self {
        Self { plan: outcome.plan.as_ref().map(Document::of), ..Self::of(outcome, changes) }
    }
}

fn assigned(of: &Assignment) -> Assigned<'_> {
    let needs = of.needs.iter().map(|need| Needed {
        kind: Kind::Bound,
        name: &need.local,
        provision: &need.provision,
        from: &need.from,
    });
    Assigned { node: &of.node, module: &of.module, ports: &of.ports, needs: needs.collect() }
}

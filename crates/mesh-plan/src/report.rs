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
    /// The plan as a whole, where this is to be compared with another one later.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Document>,
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
        Self { mesh: mesh.as_ref(), ok: plan.is_some(), refusals, warnings, changes, assignments, plan: None }
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

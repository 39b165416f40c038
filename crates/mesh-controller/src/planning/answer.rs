//! What is answered to a description that was handed over.

use std::collections::BTreeMap;

use mesh_bus::verb::VerbError;
use mesh_model::wire::{ApplyAnswer, Change, Effect, PlanRecord, V1};
use mesh_plan::{Outcome, Plan};

use super::{InEffect, with_causes};

/// How many paths a refusal names.
const NAMED: usize = 5;

/// What came of planning, and what it changes. A description with refusals is refused, whatever was asked.
pub(super) fn of(outcome: &Outcome, current: Option<&InEffect>, effect: Effect) -> ApplyAnswer {
    let follows = current.map(|current| current.record.id.clone());
    let plan = outcome.plan.as_ref();
    let effect = match (plan, effect) {
        (None, _) => Effect::Refused,
        (Some(plan), Effect::Planned) if follows.as_ref() == Some(&plan.id) => Effect::Unchanged,
        (Some(_), effect) => effect,
    };
    ApplyAnswer {
        v: V1,
        effect,
        plan: plan.map(|plan| plan.id.clone()),
        follows,
        refusals: outcome.refusals.clone(),
        warnings: outcome.warnings.clone(),
        changes: plan.map(|plan| changes(current, plan)).unwrap_or_default(),
    }
}

fn changes(current: Option<&InEffect>, plan: &Plan) -> Vec<Change> {
    let (no_assignments, no_settings) = (BTreeMap::new(), BTreeMap::new());
    let before = current.and_then(|current| current.planned.as_ref());
    let (assignments, settings) =
        before.map_or((&no_assignments, &no_settings), |(_, before)| (&before.assignments, &before.settings));
    let changes = serde_json::to_value(mesh_plan::diff(assignments, settings, plan)).expect("plain data");
    serde_json::from_value(changes).expect("both are the contract's JSON: a test compares them")
}

/// Refused, where files were not handed over.
pub(super) fn all_there(missing: &[String]) -> Result<(), VerbError> {
    let Some(first) = missing.first() else { return Ok(()) };
    let mut named = first.clone();
    missing.iter().take(NAMED).skip(1).for_each(|path| named.push_str(&format!(", {path}")));
    if missing.len() > NAMED {
        named.push_str(&format!(" and {} more", missing.len() - NAMED));
    }
    let message = format!("these files of the description were not handed over: {named}");
    Err(VerbError::new("missing-files", message)
        .help("ask `mesh-controller.upload` what is missing, and hand that over first"))
}

/// Refused, since another plan is in effect than the operator saw.
pub(super) fn moved_on(record: &PlanRecord) -> VerbError {
    let PlanRecord { id, by, at, .. } = record;
    let message = format!("the plan has moved on: {} is in effect, applied by {by} at {at}", id.short());
    VerbError::new("moved-on", message).help("plan again, and look at what would change now")
}

/// The bus does not answer, or is not as it should be.
pub(super) fn unavailable(error: impl std::error::Error) -> VerbError {
    VerbError::new("unavailable", with_causes(&error)).help("nothing has changed: try again")
}

/// Nobody knows whether a write was done, and it was not.
pub(super) fn not_done() -> VerbError {
    VerbError::new("unavailable", "the bus did not take the plan in time")
        .help("nothing has changed: try again")
}

//! What is assigned, put beside what nodes say.

use mesh_model::wire::StatusAnswer;
use serde_json::{Value, json};

use super::*;

const ASSIGNED: &str = "notes";

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn controller(joined: bool) -> StatusAnswer {
    let node = json!({"node": "cellar", "planned": true, "joined": joined});
    serde_json::from_value(json!({"v": 1, "in_step": true, "nodes": [node]})).unwrap()
}

fn applied(state: &str, plan: &Digest, more: Value) -> Applied {
    let mut told = json!({
        "v": 1, "node": "cellar", "module": "notes", "state": state, "plan": plan, "services": {},
        "credentials": {}, "at": "2026-01-01T00:00:00Z",
    });
    told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(told).unwrap()
}

/// How `notes@cellar` stands: its state, whether all is settled, and why not.
fn stands(controller: StatusAnswer, assigned: bool, told: Option<Applied>) -> String {
    let key = ModuleKey { node: "cellar".parse().unwrap(), module: "notes".parse().unwrap() };
    let assigned = assigned
        .then(|| (key, Placed { digest: digest(ASSIGNED), ports: BTreeMap::new() }))
        .into_iter()
        .collect();
    let status = Status::of(controller, &assigned, told.into_iter().collect());
    let (_, module) = status.modules().next().expect("the module");
    let settled = if status.settled { "settled" } else { "not settled" };
    format!("{}, {settled}: {}", module.state.as_str(), module.reasons().join("; "))
}

#[test]
fn what_is_applied_counts_only_for_the_assignment_that_it_is_about() {
    let same = applied("applied", &digest(ASSIGNED), json!({}));
    assert_eq!(stands(controller(true), true, Some(same)), "applied, settled: ");
    let before = applied("applied", &digest("before"), json!({}));
    assert_eq!(
        stands(controller(true), true, Some(before)),
        "assigned, not settled: its node has not taken up the change yet"
    );
}

#[test]
fn a_node_that_says_nothing_has_not_taken_it_up() {
    assert_eq!(
        stands(controller(true), true, None),
        "assigned, not settled: its node has not taken it up yet"
    );
    assert_eq!(stands(controller(false), true, None), "assigned, not settled: node cellar has not joined");
}

#[test]
fn what_nothing_assigns_is_withdrawn() {
    let told = applied("applied", &digest("before"), json!({}));
    assert_eq!(stands(controller(true), false, Some(told)), "withdrawn, not settled: ");
}

#[test]
fn each_reason_is_said_once() {
    let told = applied(
        "waiting",
        &digest(ASSIGNED),
        json!({
            "why": "server: it ended with 1",
            "waiting_for": [{"kind": "bound", "name": "db", "why": "postgres@attic has not answered"}],
            "services": {"server": {"state": "failed", "restarts": 3, "why": "it ended with 1"}},
        }),
    );
    assert_eq!(
        stands(controller(true), true, Some(told)),
        "waiting, not settled: waiting for bound db: postgres@attic has not answered; server: it ended with 1"
    );
}

#[test]
fn nothing_is_settled_before_the_buckets_say_what_the_plan_says() {
    let behind = StatusAnswer { in_step: false, ..controller(true) };
    let status = Status::of(behind, &Assigned::new(), Vec::new());
    assert!(!status.settled);
    assert_eq!(status.why.as_deref(), Some("the plan is being handed to the nodes"));
}

//! What is carried and what is not.

use serde_json::json;

use super::super::fixture::{postgres, revision};
use super::*;

fn carried(answers: Value) -> Carried {
    let text = json!({"v": 1, "answers": answers}).to_string();
    let at = Timestamp::try_from("2026-12-01T00:00:00Z".to_owned()).unwrap();
    carry(&postgres(), &"postgres-database".parse().unwrap(), Some(text.as_bytes()), at)
}

fn good() -> Value {
    json!({"node": "cellar", "module": "notes", "local": "db", "revision": revision(), "credential": "c1",
        "values": {"host": "10.0.0.1", "more": "is dropped"}})
}

fn with(field: &str, value: Value) -> Value {
    let mut answer = good();
    answer[field] = value;
    answer
}

#[test]
fn a_good_answer_is_carried() {
    let carried = carried(json!([good()]));
    let (key, bound) = carried.bound.first_key_value().unwrap();
    assert_eq!(key.to_string(), "cellar.notes.postgres-database.db");
    assert_eq!(bound.by.as_str(), "attic");
    assert_eq!(bound.values.as_ref().unwrap().len(), 1);
    assert_eq!(carried.faults, [""; 0]);
}

#[test]
fn an_error_is_carried_as_one() {
    let mut answer = with("error", json!("the name is taken"));
    answer["values"] = Value::Null;
    assert_eq!(
        carried(json!([answer])).bound.values().next().unwrap().error.as_deref(),
        Some("the name is taken")
    );
}

#[test]
fn a_fault_is_told_and_harms_no_other() {
    for (answer, says) in [
        (with("values", json!({})), "lacks `host`"),
        (with("values", json!({"host": []})), "`host`"),
        (with("values", Value::Null), "neither `values` nor `error`"),
        (with("credential", Value::Null), "`credential`"),
        (with("node", json!("No Node")), "out of shape"),
        (json!("nonsense"), "out of shape"),
    ] {
        let carried = carried(json!([answer, good()]));
        assert_eq!(carried.bound.len(), 1, "{says}");
        assert!(carried.faults[0].contains(says), "{:?}", carried.faults);
    }
}

#[test]
fn an_answer_to_somebody_else_or_to_what_was_is_passed_over() {
    for answer in [with("module", json!("wiki")), with("revision", json!("0".repeat(64)))] {
        let carried = carried(json!([answer]));
        assert!(carried.bound.is_empty() && carried.faults.is_empty());
    }
}

#[test]
fn a_file_that_is_no_json_is_the_providers_fault() {
    let at = Timestamp::try_from("2026-12-01T00:00:00Z".to_owned()).unwrap();
    for text in ["", "{", "[]", "{\"v\": 2, \"answers\": []}"] {
        let carried = carry(&postgres(), &"postgres-database".parse().unwrap(), Some(text.as_bytes()), at);
        assert_eq!((carried.bound.len(), carried.faults.len()), (0, 1), "{text:?}");
    }
}

#[test]
fn what_is_far_too_long_is_told_in_brief_and_never_carried() {
    let long = "é".repeat(100_000);
    for (answer, says) in [
        (with("values", json!({"host": long})), "more than"),
        (with("credential", json!(long)), "more than"),
        (with("node", json!(long)), "out of shape"),
    ] {
        let carried = carried(json!([answer]));
        assert!(carried.bound.is_empty() && carried.faults[0].contains(says), "{says}");
        assert!(carried.faults[0].len() < 1000);
    }
    let mut failed = with("error", json!(long));
    failed["values"] = Value::Null;
    let carried_error = carried(json!([failed]));
    assert!(carried_error.bound.values().next().unwrap().error.as_ref().unwrap().len() < 1000);
    let many = carried(Value::Array(vec![json!("nonsense"); 10_000]));
    assert_eq!(many.faults.len(), 21);
    assert!(many.faults[20].contains("9980 more"));
}

//! The shapes of the contract, read and written.

use serde_json::json;

use super::*;

#[test]
fn another_version_is_refused_and_unknown_fields_are_not() {
    let value =
        json!({"v": 1, "kind": "secret", "owner": "mesh-vault", "verb": "mesh-vault.secret", "more": 1});
    let read: Registration = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(read.source, Source::Verb { verb: "mesh-vault.secret".into() });
    let mut newer = value;
    newer["v"] = json!(2);
    assert!(serde_json::from_value::<Registration>(newer).is_err());
}

#[test]
fn a_need_is_written_as_the_contract_says() {
    let need = json!({"v": 1, "node": "cellar", "module": "notes", "kind": "bound", "name": "db", "state": "waiting",
        "why": "no answer yet", "owner": "postgres", "from": "attic", "since": "2026-12-01T09:00:00.5Z"});
    let read: NeedRecord = serde_json::from_value(need.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), need);
}

#[test]
fn a_moment_has_milliseconds_and_is_utc() {
    let at: Timestamp = serde_json::from_value(json!("2026-12-01T10:00:00.123456789+01:00")).unwrap();
    assert_eq!(at.to_string(), "2026-12-01T09:00:00.123Z");
}

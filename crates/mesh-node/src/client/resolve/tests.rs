//! What is known, what waits, and why.

use serde_json::json;

use super::super::fixture::{Trust, bound, inputs, notes, offered, postgres, registry};
use super::*;

/// What a placeholder stands for, or why it waits: with what `change` made of the inputs.
fn found(placeholder: &str, change: impl FnOnce(&mut Inputs, &Trust)) -> Result<Value, String> {
    let trust = Trust::new("cellar");
    let assignment = notes(
        json!({}),
        json!({"app.toml": {"digest": mesh_model::digest::Digest::of(b""), "size": 0,
        "mode": "0600", "on_change": "restart"}}),
    );
    let mut inputs = inputs(&assignment, &trust, Some(bound(Some("c1"))));
    change(&mut inputs, &trust);
    let (kind, path) = placeholder.split_once('.').unwrap();
    let reference = Reference::read(kind.parse().unwrap(), path).unwrap();
    let references = BTreeSet::from([reference.clone()]);
    let resolved = resolve(&assignment, &inputs, &mut trust.opener(), &references);
    let found = resolved.values[&reference].as_ref().map(|known| known.value().clone()).map_err(Clone::clone);
    let kept = resolved
        .needs
        .iter()
        .find(|need| need.kind == reference.kind() && need.name == reference.need_name());
    let state = if found.is_ok() { NeedState::Met } else { NeedState::Waiting };
    assert_eq!(kept.unwrap().state, state, "what is told is what is");
    found
}

fn as_it_is(_: &mut Inputs, _: &Trust) {}

#[test]
fn every_kind_has_its_value() {
    for (placeholder, value) in [
        ("config.title", json!("Our notes")),
        ("port.http", json!(20000)),
        ("dir.data", json!("/s/modules/notes/dirs/data")),
        ("file.app.toml", json!("/s/modules/notes/files/app.toml")),
        ("access.postgres.sql", json!("10.0.0.1:5432")),
        ("seat.mesh-vault", json!("attic")),
        ("machine.name", json!("cellar")),
        ("machine.address", json!("10.0.0.2")),
        ("collected.motd", json!(["from a", "from b"])),
        ("secret.admin", json!("s3nt1nel-pass/word")),
        ("bound.db.host", json!("10.0.0.1")),
        ("bound.db.url", json!("pg://notes:s3nt1nel-pass%2Fword@10.0.0.1/x")),
    ] {
        assert_eq!(found(placeholder, as_it_is), Ok(value), "{placeholder}");
    }
}

fn answer(inputs: &mut Inputs, bound: Option<mesh_model::wire::Bound>) {
    let answers = inputs.buckets.iter_mut().find(|(keys, _)| keys.bucket == "postgres_bound").unwrap().1;
    *answers = bound.into_iter().map(|bound| (String::new(), json!(bound))).collect();
}

/// Why the password waits, after a change.
fn why(change: impl FnOnce(&mut Inputs, &Trust)) -> String {
    found("bound.db.url", change).unwrap_err()
}

#[test]
fn a_provider_that_has_not_answered_is_waited_for() {
    assert!(why(|inputs, _| answer(inputs, None)).contains("waiting for `db` of postgres@attic"));
    assert!(why(|inputs, _| answer(inputs, Some(bound(None)))).contains("has not accepted a credential"));
    let other = |inputs: &mut Inputs, _: &Trust| {
        answer(inputs, Some(mesh_model::wire::Bound { by: "shed".parse().unwrap(), ..bound(Some("c1")) }));
    };
    assert!(why(other).contains("earlier contribution"), "an answer of another provider does not count");
    let error = |inputs: &mut Inputs, _: &Trust| {
        let error = Some("the name is taken".to_owned());
        answer(inputs, Some(mesh_model::wire::Bound { error, values: None, ..bound(None) }));
    };
    assert_eq!(why(error), "postgres@attic says: the name is taken");
    let lacks = |inputs: &mut Inputs, _: &Trust| {
        answer(inputs, Some(mesh_model::wire::Bound { values: Some(BTreeMap::new()), ..bound(Some("c1")) }));
    };
    assert!(why(lacks).contains("lacks `host`"));
}

#[test]
fn a_credential_counts_once_it_is_accepted_and_no_other_does() {
    let ahead = |inputs: &mut Inputs, _: &Trust| answer(inputs, Some(bound(Some("c2"))));
    assert!(why(ahead).contains("which the vault has not delivered"));
    let both = |inputs: &mut Inputs, trust: &Trust| {
        let one = |id, version, password| trust.delivered("db", id, version, &[("password", password)]);
        inputs.credentials.insert("db".into(), offered(vec![one("c1", 1, "old"), one("c2", 2, "new")]));
    };
    assert_eq!(
        found("bound.db.url", both),
        Ok(json!("pg://notes:old@10.0.0.1/x")),
        "the accepted one, not the newest"
    );
}

#[test]
fn what_the_vault_did_not_sign_for_this_is_refused() {
    let forged = |inputs: &mut Inputs, _: &Trust| {
        let forged = Trust::new("cellar").delivered("db", "c1", 1, &[("password", "mine")]);
        inputs.credentials.insert("db".into(), offered(vec![forged]));
    };
    assert!(why(forged).contains("is not signed by this mesh's vault"));
    let swapped = |inputs: &mut Inputs, trust: &Trust| {
        let other = trust.delivered("other", "c1", 1, &[("password", "another's")]);
        inputs.credentials.insert("db".into(), offered(vec![other]));
    };
    assert!(why(swapped).contains("`db`") || why(swapped).contains("db was asked for"));
}

#[test]
fn settings_of_another_assignment_are_waited_for() {
    let stale = |inputs: &mut Inputs, _: &Trust| {
        for (keys, records) in &mut inputs.buckets {
            if keys.bucket == "mesh-controller_config" {
                records[0].1["values"]["title"] = json!("Newer");
            }
        }
    };
    assert!(found("config.title", stale).unwrap_err().contains("not here yet"));
}

#[test]
fn a_kind_that_nobody_answers_is_waited_for() {
    let gone = |inputs: &mut Inputs, _: &Trust| {
        inputs.registry.remove(&Kind::Config);
    };
    assert!(found("config.title", gone).unwrap_err().contains("no domain answers `config`"));
}

#[test]
fn a_need_that_no_placeholder_uses_is_told_and_holds_up_nothing() {
    let trust = Trust::new("cellar");
    let assignment = notes(json!({}), json!({}));
    let resolved =
        resolve(&assignment, &inputs(&assignment, &trust, None), &mut trust.opener(), &BTreeSet::new());
    assert_eq!(resolved.needs.len(), 1);
    assert_eq!((resolved.needs[0].state, resolved.needs[0].holds_up), (NeedState::Waiting, false));
}

#[test]
fn what_was_never_read_is_not_taken_for_empty() {
    for placeholder in ["collected.motd", "config.title", "bound.db.host"] {
        let why = found(placeholder, |inputs, _| inputs.buckets.clear()).unwrap_err();
        assert!(why.contains("not read yet") || why.contains("has not answered yet"), "{why}");
    }
    let trust = Trust::new("attic");
    let reference = Reference::Contribution("postgres-database".parse().unwrap());
    let inputs = Inputs { registry: registry(), ..Inputs::default() };
    let references = BTreeSet::from([reference.clone()]);
    let resolved = resolve(&postgres(), &inputs, &mut trust.opener(), &references);
    assert!(resolved.values[&reference].is_err(), "no consumers file without consumers");
}

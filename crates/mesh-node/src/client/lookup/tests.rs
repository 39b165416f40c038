//! Registrations, filled in.

use serde_json::json;

use super::super::fixture::{notes, registry};
use super::*;

fn found(placeholder: &str) -> Result<Lookup, LookupError> {
    let assignment = notes(json!({}), json!({}));
    let (kind, path) = placeholder.split_once('.').unwrap();
    let kind = kind.parse().unwrap();
    lookup(&registry()[&kind], &assignment, &Reference::read(kind, path).unwrap())
}

fn keys(placeholder: &str) -> (String, String) {
    match found(placeholder).unwrap() {
        Lookup::Bucket { keys, .. } => (keys.bucket, keys.filter),
        Lookup::Verb { verb, .. } => (verb, String::new()),
    }
}

#[test]
fn each_kind_is_found_where_the_registry_says() {
    for (placeholder, bucket, filter) in [
        ("config.title", "mesh-controller_config", "cellar.notes"),
        ("bound.db.host", "postgres_bound", "cellar.notes.postgres-database.db"),
        ("collected.a:b", "mesh-provisioner_collect", "cellar.a=3Ab.*"),
        ("shell.zsh:normal", "mesh-provisioner_collect", "cellar.shell=3Azsh=3Anormal.*"),
        ("environment.profile", "mesh-provisioner_collect", "cellar.environment=3Aprofile.*"),
        ("contribution.route", "mesh-provisioner_collect", "*.contribution=3Aroute.*"),
        ("port.http", "mesh-controller_assignments", "cellar.notes"),
        ("secret.admin", "mesh-vault.secret", ""),
        ("consumers.postgres-database", "mesh-vault.consumers", ""),
    ] {
        assert_eq!(keys(placeholder), (bucket.to_owned(), filter.to_owned()), "{placeholder}");
    }
}

#[test]
fn a_registration_that_does_not_fit_is_told() {
    let assignment = notes(json!({}), json!({}));
    let reference = Reference::read("config".parse().unwrap(), "title").unwrap();
    let mut entry = registry()[&reference.kind()].clone();
    for key in ["<node>.<collection>", "<local>", "<nonsense>", "[.<local>]", "<unclosed"] {
        entry.source = Source::Bucket { bucket: "b".into(), key: key.into(), field: "f".into() };
        assert!(matches!(lookup(&entry, &assignment, &reference), Err(LookupError::Key { .. })), "{key}");
    }
    entry.source = Source::Verb { verb: "v".into() };
    assert!(matches!(lookup(&entry, &assignment, &reference), Err(LookupError::Verb { .. })));
    assert!(matches!(found("bound.nope.host"), Err(LookupError::Need(_))));
}

//! Rendered whole or not at all, and a digest that says what to restart.

use std::collections::BTreeSet;

use serde_json::json;

use super::super::fixture::{SENTINEL, Trust, bound, inputs, notes};
use super::super::resolve::resolve;
use super::*;

/// Two services: `server` names `app.toml`, `worker` names nothing. `text` is the file's template.
fn rendered(text: &str, on_change: &str, answered: bool) -> Result<Rendered, RenderError> {
    let run = json!({
        "server": {"exec": ["notes", "${file.app.toml}"], "env": {"URL": "${bound.db.url}"}, "user": "notes",
            "health": {"tcp": "${port.http}"}},
        "worker": {"exec": ["work"]},
    });
    let digest = mesh_model::digest::Digest::of(text.as_bytes());
    let file = json!({"digest": digest, "size": text.len(), "mode": "0640", "on_change": on_change});
    let assignment = notes(run, json!({"app.toml": file}));
    let templates = Templates::from([("app.toml".parse().unwrap(), Body::Template(Template::parse(text).0))]);
    let references = references::of(&assignment, &templates);
    let trust = Trust::new("cellar");
    let inputs = inputs(&assignment, &trust, answered.then(|| bound(Some("c1"))));
    let resolved = resolve(&assignment, &inputs, &mut trust.opener(), &references);
    render(&assignment, &templates, &resolved.values, &key())
}

fn key() -> DigestKey {
    DigestKey::from_text(&Secret::from("00".repeat(32))).unwrap()
}

#[test]
fn everything_is_filled_in() {
    let rendered =
        rendered("title = ${config.title | toml}\np = ${secret.admin}\n", "restart", true).unwrap();
    let file = &rendered.files[0];
    assert_eq!(&file.content[..], format!("title = \"Our notes\"\np = {SENTINEL}\n").as_bytes());
    assert_eq!((file.mode, file.user.as_deref()), (0o640, Some("notes")));
    let server = &rendered.module.services[0];
    assert_eq!(server.exec, ["notes", "/s/modules/notes/files/app.toml"]);
    assert_eq!(server.health, Some(Health::Tcp("127.0.0.1:20000".into())));
    assert!(server.env[0].1.expose_text().unwrap().contains("word@10.0.0.1"));
    assert!(!format!("{:?}", rendered.module).contains("s3nt1nel"), "no secret in any Debug");
}

#[test]
fn one_that_waits_and_there_is_nothing() {
    assert!(matches!(rendered("", "restart", false), Err(RenderError::Waiting { .. })));
}

#[test]
fn a_file_concerns_the_services_that_name_it() {
    let digests = |text, on_change| {
        let rendered = rendered(text, on_change, true).unwrap();
        let of = |s: &ServiceSpec| (s.digest.clone(), s.reload_digest.clone());
        (of(&rendered.module.services[0]), of(&rendered.module.services[1]))
    };
    let (one, other) = (digests("a", "restart"), digests("b", "restart"));
    assert_ne!(one.0.0, other.0.0, "the server is restarted");
    assert_eq!(one.0.1, other.0.1, "and not reloaded");
    assert_eq!(one.1, other.1, "and the worker is left alone");
    let (one, other) = (digests("a", "reload"), digests("b", "reload"));
    assert_eq!(one.0.0, other.0.0);
    assert_ne!(one.0.1, other.0.1, "the server is reloaded");
    assert_eq!(digests("a", "nothing"), digests("b", "nothing"));
}

#[test]
fn what_a_value_holds_is_never_expanded_again() {
    let placeholder = match Template::parse("${config.title}").0.parts.remove(0) {
        Part::Placeholder(placeholder) => placeholder,
        Part::Text(_) => unreachable!("it is a placeholder"),
    };
    let written = written(&placeholder, &json!("a$b${x}#'\"\\ é\n")).unwrap();
    assert_eq!(written.as_str(), "a$b${x}#'\"\\ é\n");
}

#[test]
fn a_secret_goes_nowhere_but_files_and_env() {
    let assignment = notes(json!({"server": {"exec": ["notes", "${secret.admin}"]}}), json!({}));
    let trust = Trust::new("cellar");
    let references: BTreeSet<Reference> = references::of(&assignment, &Templates::new());
    let inputs = inputs(&assignment, &trust, None);
    let resolved = resolve(&assignment, &inputs, &mut trust.opener(), &references);
    let error = render(&assignment, &Templates::new(), &resolved.values, &key()).err().unwrap().to_string();
    assert!(error.contains("secret.admin") && !error.contains("s3nt1nel"), "{error}");
}

#[test]
fn a_verbatim_file_is_carried_byte_for_byte() {
    let bytes: Vec<u8> = (0..=255).chain(*b"${config.title}\r\n$${").collect();
    let assignment = notes(json!({}), json!({}));
    let templates = Templates::from([("logo.png".parse().unwrap(), Body::Verbatim(bytes.clone().into()))]);
    assert!(references::of(&assignment, &templates).is_empty(), "nothing is looked for in it");
    let rendered = render(&assignment, &templates, &BTreeMap::new(), &key()).unwrap();
    assert_eq!(*rendered.files[0].content, bytes);
}

#[test]
fn a_preparation_of_other_values_is_another_service() {
    let digest = |title: &str| {
        let run = json!({"server": {"prepare": [{"exec": ["init", "${config.title}"]}], "exec": ["notes"]}});
        let assignment = notes(run, json!({}));
        let value = super::super::resolve::Known::plain(json!(title));
        let values = BTreeMap::from([(Reference::Config("title".parse().unwrap()), Ok(value))]);
        let rendered = render(&assignment, &Templates::new(), &values, &key()).unwrap();
        rendered.module.services[0].digest.clone()
    };
    assert_ne!(digest("one"), digest("other"));
    assert_eq!(digest("one"), digest("one"));
}

#[test]
fn a_nul_is_no_value_of_a_process() {
    for run in [
        json!({"server": {"exec": ["notes"], "env": {"TITLE": "${config.title}"}}}),
        json!({"server": {"exec": ["notes", "${config.title}"]}}),
    ] {
        let assignment = notes(run, json!({}));
        let value = super::super::resolve::Known::plain(json!("a\0b"));
        let values = BTreeMap::from([(Reference::Config("title".parse().unwrap()), Ok(value))]);
        let error = render(&assignment, &Templates::new(), &values, &key()).err().unwrap().to_string();
        assert!(error.contains("service `server`") && error.contains("NUL"), "{error}");
    }
}

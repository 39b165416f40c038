//! What cannot work: said where somebody looks, and it holds up nobody else.

use std::net::TcpListener;

use serde_json::Value;

use crate::quickstart::home::Home;
use crate::quickstart::until;

/// A module whose program is not there.
const MISSING: &str = "\
module: missing
run: {server: {exec: [no-such-program, --flag]}}
";

fn why(module: &Value) -> String {
    let services = module["services"].as_object().unwrap().values();
    let whys = services.map(|service| service["why"].as_str().unwrap_or_default().to_owned());
    [module["why"].as_str().unwrap_or_default().to_owned()]
        .into_iter()
        .chain(whys)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let home = Home::quickstart();
    home.up();
    let before = home.services();
    home.write("modules/missing/module.yaml", MISSING);
    home.edit("mesh.yaml", "notes: cellar", "missing: attic\n  notes: cellar");
    let ran = home.mesh("apply --yes --wait --timeout 5");
    assert_eq!(ran.exit, 4, "{ran}");
    let missing =
        until("it is failed", || home.module("attic", "missing").filter(|m| m["state"] == "failed"));
    assert!(why(&missing).contains("no-such-program"), "{missing}");
    for (node, module) in [("attic", "postgres"), ("cellar", "notes")] {
        assert_eq!(home.module(node, module).unwrap()["state"], "applied");
    }
    assert_eq!(home.services(), before);
}

#[test]
fn whoever_holds_a_port_is_named() {
    let home = Home::quickstart();
    home.up();
    let port = home.port("cellar", "notes", "http");
    home.down();
    let held = TcpListener::bind(("127.0.0.1", port)).unwrap();
    assert_eq!(home.try_up(&["--timeout", "5"]).exit, 4);
    let notes = until("it is told", || {
        let notes = home.module("cellar", "notes");
        notes.filter(|notes| why(notes).contains(&format!("port {port}")))
    });
    assert_eq!(notes["state"], "failed", "{notes}");
    let holder = format!("(pid {})", std::process::id());
    assert!(why(&notes).contains(&holder), "{notes}");
    assert_eq!(home.module("attic", "postgres").unwrap()["state"], "applied");
    // Given free, it is taken without anybody's help.
    drop(held);
    home.settle();
    home.browser().well();
}

#[test]
fn an_assignment_that_cannot_be_read_is_told_and_changes_nothing() {
    let home = Home::quickstart();
    home.up();
    let (before, mut browser) = (home.services(), home.browser());
    let buckets = home.as_anybody();
    let good = buckets.value("mesh-controller_assignments", "cellar.notes");
    buckets.put("mesh-controller_assignments", "cellar.notes", "{\"v\": 1, \"digest\": true}".to_owned());
    until("it is told", || {
        let why = home.applied("notes")["why"].as_str()?.to_owned();
        why.contains("its assignment cannot be read").then_some(())
    });
    assert_eq!(home.applied("notes")["state"], "applied");
    let notes = home.module("cellar", "notes").unwrap();
    assert_eq!(notes["state"], "assigned", "the last good one runs, and that is not what is assigned");
    assert!(notes["why"].as_str().unwrap().contains("cannot be read"), "{notes}");
    assert_eq!(home.module("attic", "postgres").unwrap()["state"], "applied", "one harms no other");
    browser.well();
    assert_eq!(home.services(), before);
    // The controller looks now and then, and sets it right; somebody may be quicker.
    buckets.put("mesh-controller_assignments", "cellar.notes", good.to_string());
    until("nothing is told of it any more", || home.applied("notes").get("why").is_none().then_some(()));
    home.settle();
    assert_eq!(home.services(), before);
}

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

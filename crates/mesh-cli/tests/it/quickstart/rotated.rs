//! A credential that is replaced while those who use it go on working: on real services, whoever is killed meanwhile.

use serde_json::Value;

use crate::program::put;
use crate::quickstart::database::{Session, config, refused};
use crate::quickstart::home::Home;
use crate::quickstart::until;
use crate::quickstart::watcher::Watcher;

const FIVE: [&str; 5] = ["cellar", "cellar-2", "cellar-3", "cellar-4", "cellar-5"];

/// The quickstart with `notes` on several nodes.
fn with_notes_on(nodes: &[&str]) -> Home {
    let home = Home::quickstart();
    for node in &nodes[1..] {
        home.add_node(node);
    }
    home.edit("mesh.yaml", "notes: cellar ", &format!("notes: [{}] ", nodes.join(", ")));
    home.up();
    home
}

/// What the service on a node uses.
fn used(home: &Home, node: &str) -> String {
    until("it runs", || home.service(node, "notes", "server").entry("DATABASE_URL"))
}

/// The rotation that is told of, if any.
fn rotation(home: &Home) -> Option<Value> {
    home.json("secret list")["rotations"].as_array()?.first().cloned()
}

/// What the vault said of steps, in order: what, and on which node.
fn steps(home: &Home) -> Vec<(String, String)> {
    let log = std::fs::read_to_string(home.state().join("mesh.log")).unwrap();
    let said = |line: &str| {
        let what = ["made a second credential", "has taken up the new one", "retired a credential"]
            .into_iter()
            .find(|what| line.contains(what))?;
        let node = line.split("node=").nth(1)?.split(char::is_whitespace).next()?;
        Some((what.to_owned(), node.to_owned()))
    };
    log.lines().filter_map(said).collect()
}

#[test]
fn case_19_five_consumers_one_after_the_other_and_nobody_is_ever_refused() {
    let home = with_notes_on(&FIVE);
    let before: Vec<String> = FIVE.iter().map(|node| used(&home, node)).collect();
    let watcher = Watcher::new(&home, &FIVE);
    let ran = home.mesh("secret rotate notes.db");
    assert_eq!(ran.exit, 0, "{ran}\n{}", home.log());
    watcher.never_refused(&home);

    let steps = steps(&home);
    let expected: Vec<(String, String)> = FIVE
        .iter()
        .flat_map(|node| {
            ["made a second credential", "has taken up the new one", "retired a credential"]
                .map(|what| (what.to_owned(), (*node).to_owned()))
        })
        .collect();
    assert_eq!(steps, expected, "one after the other");
    let told = rotation(&home).unwrap();
    assert_eq!(told["state"], "done", "{told}");
    assert_eq!(told["done"].as_array().unwrap().len(), 5, "{told}");
    for (node, old) in FIVE.iter().zip(&before) {
        let new = used(&home, node);
        assert_ne!(new, *old, "{node} was not started with another");
        Session::open(&new).unwrap();
        until("the old one is refused", || Session::open(old).is_err().then_some(()));
        let why = refused(&config(old));
        assert!(["28000", "28P01"].contains(&why.code()), "{why:?}");
    }
    let list = home.json("secret list --module notes");
    let dbs = list["entries"].as_array().unwrap().iter().filter(|entry| entry["name"] == "db");
    dbs.for_each(|entry| assert_eq!(entry["versions"].as_array().unwrap().len(), 1, "{entry}"));
    home.settle();
}

#[test]
fn one_node_alone_and_two_at_once() {
    let home = with_notes_on(&FIVE[..3]);
    let before: Vec<String> = FIVE[..3].iter().map(|node| used(&home, node)).collect();
    let watcher = Watcher::new(&home, &FIVE[..3]);
    home.mesh("secret rotate notes.db --node cellar-2").done();
    assert_eq!(used(&home, "cellar"), before[0]);
    assert_ne!(used(&home, "cellar-2"), before[1]);
    assert_eq!(used(&home, "cellar-3"), before[2]);
    home.mesh("secret rotate notes.db --at-once 2").done();
    watcher.never_refused(&home);
    let order: Vec<String> = steps(&home).into_iter().skip(3).map(|(what, _)| what).collect();
    assert_eq!(order[..2], ["made a second credential", "made a second credential"], "{order:?}");
    for (node, old) in FIVE.iter().zip(&before) {
        assert_ne!(used(&home, node), *old);
    }
}

#[test]
fn case_17_what_the_provider_cannot_make_stops_it_and_the_old_one_stays_good() {
    let home = with_notes_on(&FIVE[..2]);
    let before = used(&home, "cellar");
    let watcher = Watcher::new(&home, &FIVE[..2]);
    let superuser = format!(
        "postgres://postgres:{}@127.0.0.1:{}/postgres",
        home.reveal("attic", "postgres.superuser"),
        home.port("attic", "postgres", "sql")
    );
    // As long as this session lasts, no role can be made.
    let holder = Session::open(&superuser).unwrap();
    holder.ask("SELECT 'x'").unwrap();
    holder.run("BEGIN; LOCK TABLE pg_authid IN SHARE MODE").unwrap();
    let ran = home.mesh("secret rotate notes.db --patience 3");
    assert_eq!(ran.exit, 1, "{ran}");
    assert!(ran.err.contains("notes@cellar") && ran.err.contains("lock timeout"), "{ran}");
    assert!(ran.err.contains("--resume") && ran.err.contains("--abandon"), "{ran}");
    assert_eq!(used(&home, "cellar"), before, "it was started with what is not accepted");
    Session::open(&before).unwrap();
    let told = rotation(&home).unwrap();
    assert_eq!((&told["state"], &told["at"]), (&"stopped".into(), &"cellar".into()), "{told}");
    for words in ["secret list", "status"] {
        let out = home.mesh(words).done();
        assert!(out.contains("has stopped at cellar") && out.contains("lock timeout"), "{words}: {out}");
    }
    // Another is not begun beside it.
    let ran = home.mesh("secret rotate notes.db");
    assert_eq!(ran.exit, 1, "{ran}");
    assert!(ran.err.contains("under way"), "{ran}");

    holder.run("ROLLBACK").unwrap();
    let ran = home.mesh("secret rotate notes.db --resume");
    assert_eq!(ran.exit, 0, "{ran}\n{}", home.log());
    watcher.never_refused(&home);
    assert_ne!(used(&home, "cellar"), before);
    until("the old one is refused", || Session::open(&before).is_err().then_some(()));
}

#[test]
fn case_20_a_consumer_that_is_not_well_with_the_new_one_stops_it_and_both_are_good() {
    let home = Home::quickstart();
    // It is well while a file is there.
    let well = home.dir().join("well");
    put(&well, "");
    let health = "{http: \"http://127.0.0.1:${port.http}/health\"}";
    home.edit("modules/notes/module.yaml", health, &format!("{{exec: [test, -e, {}]}}", well.display()));
    home.add_node("shed");
    home.edit("mesh.yaml", "notes: cellar ", "notes: [cellar, shed] ");
    home.up();
    let (before, shed) = (used(&home, "cellar"), used(&home, "shed"));
    let process = home.service("cellar", "notes", "server");
    let watcher = Watcher::new(&home, &["cellar", "shed"]);
    std::fs::remove_file(&well).unwrap();
    let ran = home.mesh("secret rotate notes.db --patience 1 --deadline 5");
    assert_eq!(ran.exit, 1, "{ran}");
    assert!(ran.err.contains("notes@cellar"), "{ran}");
    assert!(!process.runs(), "it was not started again");
    let new = used(&home, "cellar");
    assert_ne!(new, before);
    Session::open(&new).unwrap();
    Session::open(&before).unwrap();
    assert_eq!(used(&home, "shed"), shed, "the next was begun although the last is not well");

    // Given up, it goes back; and the new one ends.
    let ran = home.mesh("secret rotate notes.db --abandon --no-wait");
    assert_eq!(ran.exit, 0, "{ran}");
    until("it is back at the old one", || (used(&home, "cellar") == before).then_some(()));
    Session::open(&new).unwrap();
    put(&well, "");
    until("it is given up", || (rotation(&home)?["state"] == "abandoned").then_some(()));
    until("the new one is refused", || Session::open(&new).is_err().then_some(()));
    Session::open(&before).unwrap();
    watcher.never_refused(&home);
    home.settle();
    // And it can be rotated again.
    home.mesh("secret rotate notes.db").done();
    assert_ne!(used(&home, "cellar"), before);
}

//! However a service, its shim or its node ends: nothing of the service is left.

use std::time::{Duration, Instant};

use crate::bench::{
    Bench, Killable, TESTBED, finish, is_alive, kill_9, marked, module, parent, pid, running, service_is,
    until,
};

/// Leaves its number, starts one that gets away from it (a session of its own, forked twice), and ends well on TERM.
const AWAY: &str = r#"
    (setsid sh -c 'echo $$ > "$SEEN/away"; exec sleep 1000' > /dev/null 2>&1 &)
    trap 'echo bye > "$SEEN/bye"; exit 0' TERM
    echo $$ > "$SEEN/main"
    while :; do sleep 0.05; done
"#;

/// A script for a node of its own, whose service has no environment of the test's.
fn script(bench: &Bench) -> String {
    format!("export SEEN={}; {AWAY}", bench.seen("").display())
}

#[tokio::test]
async fn kill_9_of_the_node_ends_its_services_well_and_all_below_them() {
    let bench = Bench::new();
    let mut node = bench.node(&script(&bench));
    let (main, away) = (pid(&bench, "main").await, pid(&bench, "away").await);
    node.kill();
    until("both are gone", || (!is_alive(main) && !is_alive(away)).then_some(())).await;
    assert_eq!(bench.read("bye"), "bye\n", "it was asked, not killed");
    until("the shim is gone", || marked(&bench).is_empty().then_some(())).await;
}

#[tokio::test]
async fn kill_9_of_the_shim_ends_the_service_and_it_is_started_again() {
    let bench = Bench::new();
    let host = bench.host().await;
    host.set("box", Some(module(vec![bench.service("main", AWAY)])));
    running(&host, "main").await;
    let (main, away) = (pid(&bench, "main").await, pid(&bench, "away").await);
    kill_9(parent(main));
    let failed = service_is(&host, "main", |service| service.why.is_some()).await;
    assert!(failed.why.unwrap().contains("the mesh's process above it was killed"));
    assert!(!is_alive(main) && !is_alive(away), "all of it is gone before it is started again");
    service_is(&host, "main", |service| service.restarts == 1 && service.why.is_none()).await;
    finish(&bench, host).await;
}

#[tokio::test]
async fn a_node_that_starts_ends_what_a_killed_node_with_killed_shims_has_left() {
    let bench = Bench::new();
    let mut node = bench.node(&script(&bench));
    let (main, away) = (pid(&bench, "main").await, pid(&bench, "away").await);
    node.freeze();
    kill_9(parent(main));
    node.kill();
    assert!(is_alive(away), "nobody was left to end it");
    let host = bench.host().await;
    assert!(!is_alive(main) && !is_alive(away));
    finish(&bench, host).await;
}

#[tokio::test]
async fn what_stayed_in_the_session_is_found_without_a_mark() {
    let bench = Bench::new();
    // As PostgreSQL's and nginx's children: no environment to be known by.
    let script = format!(
        "export SEEN={}; env -i sh -c 'echo $$ > \"$0\"; exec sleep 1000' $SEEN/child & echo $$ > $SEEN/main; wait",
        bench.seen("").display()
    );
    let mut node = bench.node(&script);
    let (main, child) = (pid(&bench, "main").await, pid(&bench, "child").await);
    node.freeze();
    kill_9(parent(main));
    node.kill();
    assert!(is_alive(child), "nobody was left to end it");
    let host = bench.host().await;
    assert!(!is_alive(child));
    finish(&bench, host).await;
}

#[tokio::test]
async fn one_that_does_not_stop_is_killed_at_its_deadline() {
    let bench = Bench::new();
    let host = bench.host().await;
    let script = r#"trap '' TERM; echo $$ > "$SEEN/main"; while :; do sleep 0.05; done"#;
    let mut stubborn = bench.service("main", script);
    stubborn.stop_deadline = Duration::from_millis(400);
    host.set("box", Some(module(vec![stubborn])));
    let main = pid(&bench, "main").await;
    running(&host, "main").await;
    let begun = Instant::now();
    host.set("box", None);
    until("it is gone", || (!is_alive(main)).then_some(())).await;
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(400), "killed too early, after {took:?}");
    finish(&bench, host).await;
}

#[tokio::test]
async fn what_a_service_leaves_when_it_ends_by_itself_is_ended_too() {
    let bench = Bench::new();
    let host = bench.host().await;
    let script = r#"(setsid sh -c 'echo $$ > "$SEEN/away"; exec sleep 1000' > /dev/null 2>&1 &)
        while ! [ -s "$SEEN/away" ]; do sleep 0.01; done; exit 3"#;
    host.set("box", Some(module(vec![bench.service("main", script)])));
    let away = pid(&bench, "away").await;
    let failed = service_is(&host, "main", |service| service.why.is_some()).await;
    assert_eq!(failed.why.as_deref(), Some("ended with 3"));
    assert!(!is_alive(away));
    finish(&bench, host).await;
}

#[tokio::test]
async fn a_host_that_is_dropped_ends_its_services() {
    let bench = Bench::new();
    let host = bench.host().await;
    host.set("box", Some(module(vec![bench.service("main", AWAY)])));
    let main = pid(&bench, "main").await;
    drop(host);
    until("it is gone", || (!is_alive(main)).then_some(())).await;
    until("the shim is gone", || marked(&bench).is_empty().then_some(())).await;
}

#[tokio::test]
async fn a_second_host_in_one_folder_is_refused_and_ends_nothing() {
    use mesh_node::host::{Error, Host, HostConfig, Program};
    let bench = Bench::new();
    let host = bench.host().await;
    let program = Program { path: crate::bench::TESTBED.into(), arguments: vec!["shim".into()] };
    let config = HostConfig { node: "attic".into(), state: bench.state(), program, timezone: None };
    let error = Host::start(config).await.unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    finish(&bench, host).await;
}

#[tokio::test]
async fn what_the_mesh_was_started_with_is_not_handed_on() {
    let bench = Bench::new();
    let script = format!("echo $$ > {}; exec sleep 1000", bench.seen("main").display());
    // A shell that leaves two files open, as a CI's runner does.
    let leaving = format!("exec 7< /dev/null 8> /dev/null; exec {TESTBED} node \"$0\" \"$1\"");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &leaving]).arg(bench.state()).arg(script);
    let _node = Killable::start(&mut command);
    let main = pid(&bench, "main").await;
    let open = std::fs::read_dir(format!("/proc/{main}/fd")).unwrap().count();
    assert_eq!(open, 3);
}

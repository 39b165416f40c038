//! What a host does for services that behave: order, reload, restart, environment, logs.

use std::time::Duration;

use mesh_node::{
    files::{Dir, Lasting},
    host::{Health, Prepare, RunState, logs},
};
use mesh_seal::Secret;

use crate::bench::{Bench, finish, is_alive, module, pid, pids, running, service_is, until};

/// Says when it starts, is reloaded and is stopped, in `$SEEN/told`.
fn telling(name: &str) -> String {
    format!(
        r#"trap 'echo {name} stops >> "$SEEN/told"; exit 0' TERM
           trap 'echo {name} reloads >> "$SEEN/told"' HUP
           echo {name} starts >> "$SEEN/told"
           while :; do sleep 0.02; done"#
    )
}

#[tokio::test]
async fn services_start_in_order_when_healthy_and_stop_in_reverse() {
    let bench = Bench::new();
    let host = bench.host().await;
    let mut first = bench.service("first", &telling("first"));
    first.health = Some(Health::Exec(["sh", "-c", "test -e $SEEN/ready"].map(String::from).to_vec()));
    let second = bench.service("second", &telling("second"));
    host.set("box", Some(module(vec![first, second])));
    let waiting = service_is(&host, "second", |service| service.why.is_some()).await;
    assert_eq!(waiting.why.as_deref(), Some("waits for `first` to be healthy"));
    let starting = service_is(&host, "first", |service| service.why.is_some()).await;
    assert_eq!((starting.state, starting.why.as_deref()), (RunState::Starting, Some("`sh` ended with 1")));
    until("the first one's word", || (bench.read("told") == "first starts\n").then_some(())).await;
    std::fs::File::create(bench.seen("ready")).unwrap();
    running(&host, "second").await;
    finish(&bench, host).await;
    assert_eq!(bench.read("told"), "first starts\nsecond starts\nsecond stops\nfirst stops\n");
}

#[tokio::test]
async fn a_change_restarts_or_reloads_that_service_alone_and_no_change_does_nothing() {
    let bench = Bench::new();
    let host = bench.host().await;
    let desired = |digest: &str, reload: &str| {
        let mut first = bench.service("first", &telling("first"));
        (first.digest, first.reload_digest) = (digest.into(), reload.into());
        Some(module(vec![first, bench.service("second", &telling("second"))]))
    };
    host.set("box", desired("1", "1"));
    running(&host, "second").await;
    host.set("box", desired("1", "1"));
    host.set("box", desired("1", "2"));
    until("the reload", || bench.read("told").contains("reloads").then_some(())).await;
    host.set("box", desired("2", "2"));
    service_is(&host, "first", |service| service.is_settled("2", "2")).await;
    let told = "first starts\nsecond starts\nfirst reloads\nfirst stops\nfirst starts\n";
    assert_eq!(bench.read("told"), told);
    assert_eq!(host.states().borrow()["box"].services["first"].restarts, 0);
    finish(&bench, host).await;
}

#[tokio::test]
async fn a_service_that_is_killed_is_up_again() {
    let bench = Bench::new();
    let host = bench.host().await;
    host.set("box", Some(module(vec![bench.service("main", "echo $$ > $SEEN/main; exec sleep 1000")])));
    running(&host, "main").await;
    let first = pid(&bench, "main").await;
    crate::bench::kill_9(first);
    let failed = service_is(&host, "main", |service| service.state == RunState::Failed).await;
    assert_eq!(failed.why.as_deref(), Some("ended by signal 9"));
    service_is(&host, "main", |service| service.state == RunState::Running && service.restarts == 1).await;
    assert_ne!(pid(&bench, "main").await, first);
    finish(&bench, host).await;
}

#[tokio::test]
async fn http_and_tcp_health_are_asked_of_a_real_server() {
    let bench = Bench::new();
    let host = bench.host().await;
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let serve = format!("exec python3 -m http.server --bind 127.0.0.1 --directory $SEEN {port}");
    let mut http = bench.service("http", &serve);
    http.env.push(("PATH".into(), Secret::from(std::env!("PATH").to_owned())));
    http.health = Some(Health::Http(format!("http://127.0.0.1:{port}/")));
    let mut tcp = bench.service("tcp", "exec sleep 1000");
    tcp.health = Some(Health::Tcp(format!("127.0.0.1:{port}")));
    host.set("box", Some(module(vec![http, tcp])));
    running(&host, "tcp").await;
    finish(&bench, host).await;
}

#[tokio::test]
async fn the_environment_is_little_and_its_secrets_are_in_no_command_line() {
    let bench = Bench::new();
    let host = bench.host().await;
    // In pieces, so that this test's own program does not hold it.
    let sentinel = ["sen", "ti", "nel-", "a$b${x}#'\"\\ é\nZq3vX9"].concat();
    let script = r#"env > $SEEN/env; printf %s "$TOKEN" > $SEEN/token; pwd > $SEEN/pwd
        ls /proc/self/fd | wc -l > $SEEN/files; readlink /proc/self/fd/0 >> $SEEN/files
        touch $SEEN/done; exec sleep 1000"#;
    let mut main = bench.service("main", script);
    main.env.push(("TOKEN".into(), Secret::from(sentinel.clone())));
    host.set("box", Some(module(vec![main])));
    until("its word", || bench.seen("done").exists().then_some(())).await;
    assert_eq!(bench.read("token"), sentinel);
    let env = bench.read("env");
    let mut names: Vec<&str> = env.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.retain(|name| !["_", "SHLVL", "OLDPWD"].contains(name));
    names.sort_unstable();
    let expected =
        ["HOME", "LANG", "MESH_MODULE", "MESH_NODE", "MESH_SERVICE", "PATH", "PWD", "SEEN", "TOKEN", "USER"];
    assert_eq!(names, expected);
    assert!(env.contains("\nMESH_NODE=attic\n") || env.starts_with("MESH_NODE=attic\n"));
    let folder = host.layout().module("box").canonicalize().unwrap();
    assert_eq!(bench.read("pwd").trim_end(), folder.to_str().unwrap());
    // 0, 1, 2 and the listing's own.
    assert_eq!(bench.read("files"), "4\n/dev/null\n");
    for pid in pids() {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&command).contains("nel-a$b"), "in the command line of {pid}");
    }
    finish(&bench, host).await;
    assert!(!everything_below(&bench.state()).contains("nel-a$b"), "on disk");
}

fn everything_below(folder: &std::path::Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push_str(&everything_below(&path));
        } else {
            all.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
        }
    }
    all
}

#[tokio::test]
async fn a_preparation_is_run_once_and_its_temporary_folder_is_empty_at_each_start() {
    let bench = Bench::new();
    let host = bench.host().await;
    let temporary = host.layout().module("box").join("run");
    let script = format!(
        "ls {0} | wc -l >> $SEEN/held; touch {0}/left; sleep 0.1; [ -e $SEEN/again ] && exec sleep 1000; touch $SEEN/again; exit 1",
        temporary.display()
    );
    let mut main = bench.service("main", &script);
    let step =
        |script: &str, creates| Prepare { exec: ["sh", "-c", script].map(String::from).to_vec(), creates };
    main.prepare = vec![
        step("echo init >> $SEEN/prepared; touch $SEEN/db", Some(bench.seen("db"))),
        step("echo each >> $SEEN/prepared", None),
    ];
    let mut desired = module(vec![main]);
    desired.dirs.push(Dir { path: temporary, lasting: Lasting::Temporary, owner: None });
    host.set("box", Some(desired));
    service_is(&host, "main", |service| service.state == RunState::Running && service.restarts == 1).await;
    assert_eq!(bench.read("prepared"), "init\neach\neach\n");
    assert_eq!(bench.read("held"), "0\n0\n");
    finish(&bench, host).await;
}

#[tokio::test]
async fn what_a_service_says_is_kept_and_can_be_followed() {
    let bench = Bench::new();
    let host = bench.host().await;
    let script = r#"for i in 1 2 3; do echo line $i; done; echo from stderr >&2; touch $SEEN/said
        while ! [ -e $SEEN/more ]; do sleep 0.02; done; echo more > /dev/stdout; exec sleep 1000"#;
    host.set("box", Some(module(vec![bench.service("main", script)])));
    let log = host.layout().log("box", "main");
    until("the first lines", || logs::tail(&log, 2).ok().filter(|lines| lines == &["line 3", "from stderr"]))
        .await;
    let mut follow = logs::Follow::from_end(&log).unwrap();
    std::fs::File::create(bench.seen("more")).unwrap();
    let more = tokio::time::timeout(Duration::from_secs(10), follow.next()).await.unwrap().unwrap();
    assert_eq!(more, b"more\n");
    finish(&bench, host).await;
}

#[tokio::test]
async fn a_module_that_is_wanted_again_at_once_is_started_anew() {
    let bench = Bench::new();
    let host = bench.host().await;
    let desired = || Some(module(vec![bench.service("main", "echo $$ > $SEEN/main; exec sleep 1000")]));
    host.set("box", desired());
    let first = pid(&bench, "main").await;
    running(&host, "main").await;
    host.set("box", None);
    until("it has ended", || (!is_alive(first)).then_some(())).await;
    host.set("box", desired());
    until("another", || (pid_now(&bench) != Some(first)).then_some(())).await;
    running(&host, "main").await;
    finish(&bench, host).await;
}

fn pid_now(bench: &Bench) -> Option<i32> {
    bench.read("main").trim_end().parse().ok()
}

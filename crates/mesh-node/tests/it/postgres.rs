//! PostgreSQL is what a host has to be good at: children of its own, a signal of its own, and data to lose.

use std::path::PathBuf;

use mesh_node::{
    files::{Dir, Lasting},
    host::{Health, Host, Prepare, ServiceSpec},
    shim::StopSignal,
    users,
};
use mesh_seal::Secret;

use crate::bench::{Bench, finish, is_alive, kill_9, module, parent, parent_of, pids, running, service_is};

fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let found = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).max();
    found.filter(|folder| folder.join("initdb").exists() && rustix::process::geteuid().is_root())
}

fn server(bench: &Bench, host: &Host, programs: &std::path::Path) -> ServiceSpec {
    let data = host.layout().module("box").join("data");
    let text = |words: &str| -> Vec<String> {
        let words =
            words.replace("DATA", data.to_str().unwrap()).replace("SEEN", bench.seen("").to_str().unwrap());
        words.split(' ').map(str::to_owned).collect()
    };
    let path = format!("{}:/usr/bin:/bin", programs.display());
    ServiceSpec {
        prepare: vec![Prepare {
            exec: text("initdb -D DATA -U postgres -E UTF8 --locale=C.UTF-8 --no-sync"),
            creates: Some(data.join("PG_VERSION")),
        }],
        exec: text("postgres -D DATA -c listen_addresses= -c unix_socket_directories=SEEN"),
        env: vec![("PATH".into(), Secret::from(path))],
        user: Some("postgres".into()),
        health: Some(Health::Exec(text("pg_isready -q -h SEEN"))),
        stop_signal: StopSignal::Int,
        ..bench.service("main", "")
    }
}

#[tokio::test]
async fn it_is_stopped_well_and_nothing_is_left_where_its_shim_is_killed() {
    let Some(programs) = programs() else {
        #[expect(clippy::disallowed_methods, reason = "whether a skip is allowed is said by the environment")]
        let must = std::env::var_os("CI").is_some();
        assert!(!must, "CI has to have PostgreSQL, and to be root");
        eprintln!("SKIPPED: no PostgreSQL here, or not root");
        return;
    };
    let bench = Bench::new();
    let host = bench.host().await;
    let owner = Some((&users::find("postgres").unwrap()).into());
    let path = host.layout().module("box").join("data");
    let mut desired = module(vec![server(&bench, &host, &programs)]);
    desired.dirs.push(Dir { path: path.clone(), lasting: Lasting::Kept, owner });
    host.set("box", Some(desired));
    running(&host, "main").await;
    let postmaster = || {
        let text = std::fs::read_to_string(path.join("postmaster.pid")).ok()?;
        text.lines().next()?.parse::<i32>().ok()
    };
    let first = postmaster().unwrap();
    let below: Vec<i32> = pids().into_iter().filter(|pid| parent_of(*pid) == Some(first)).collect();
    assert!(below.len() >= 3, "{below:?}");
    kill_9(parent(first));
    service_is(&host, "main", |service| service.why.is_some()).await;
    assert!(!is_alive(first) && !below.iter().any(|pid| is_alive(*pid)));
    service_is(&host, "main", |service| service.restarts == 1 && service.why.is_none()).await;
    let log = host.layout().log("box", "main");
    finish(&bench, host).await;
    let said = mesh_node::host::logs::tail(&log, 3).unwrap().join("\n");
    assert!(said.ends_with("database system is shut down"), "{said}");
}

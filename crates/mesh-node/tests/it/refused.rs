//! What cannot work says so, with the way out, and gives nothing away.

use std::os::unix::fs::PermissionsExt;

use mesh_node::host::{Prepare, RunState};
use mesh_seal::Secret;

use crate::bench::{Bench, finish, module, service_is, until};

async fn why(host: &mesh_node::host::Host, name: &str) -> String {
    service_is(host, name, |service| service.state == RunState::Failed).await.why.unwrap()
}

#[tokio::test]
async fn a_preparation_that_fails_says_its_last_words_and_never_a_secret() {
    let bench = Bench::new();
    let host = bench.host().await;
    let mut main = bench.service("main", "exec sleep 1000");
    let script = "echo so far so good; echo cannot reach $URL; echo wrong password Zq3vX9sentinel; exit 4";
    let exec = ["sh", "-c", &script.replace("Zq3vX9sentinel", "$PASSWORD")].map(String::from).to_vec();
    main.prepare = vec![Prepare { exec, creates: None }];
    main.env.push(("URL".into(), Secret::from("postgres://notes:Zq3vX9sentinel@db/notes".to_owned())));
    main.env.push(("PASSWORD".into(), Secret::from("Zq3vX9sentinel".to_owned())));
    host.set("box", Some(module(vec![main])));
    let why = why(&host, "main").await;
    let expected = "preparing with `sh` ended with 4: so far so good | cannot reach *** | wrong password ***";
    assert_eq!(why, expected);
    service_is(&host, "main", |service| service.restarts >= 1).await;
    finish(&bench, host).await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let bench = Bench::new();
    let host = bench.host().await;
    let mut main = bench.service("main", "");
    main.exec = vec!["no-such-program".into()];
    host.set("box", Some(module(vec![main])));
    let why = why(&host, "main").await;
    assert!(why.starts_with("ended with 127: mesh: could not run `no-such-program`: No such file"), "{why}");
    finish(&bench, host).await;
}

#[tokio::test]
async fn a_crash_loop_is_seen_and_counted() {
    let bench = Bench::new();
    let host = bench.host().await;
    host.set("box", Some(module(vec![bench.service("main", "echo broken; exit 1")])));
    let failing = |times: &'static str| {
        service_is(&host, "main", move |service| service.why.as_ref().is_some_and(|why| why.contains(times)))
    };
    let state = failing("2 times in a row").await;
    assert_eq!(state.why.as_deref(), Some("ended with 1: broken (2 times in a row)"));
    finish(&bench, host).await;
}

#[tokio::test]
async fn a_port_that_somebody_else_holds_is_named_with_the_holder() {
    let bench = Bench::new();
    let host = bench.host().await;
    // Started before the host's services and not below it: as far as the host can see, not the mesh's. This test's own
    // process is the host's, so the holder is given away to whoever adopts orphans.
    let script = format!(
        "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); \
         open('{0}.new', 'w').write(str(s.getsockname()[1]) + '\\n'); import os; os.rename('{0}.new', '{0}'); time.sleep(60)",
        bench.seen("port").display()
    );
    let shell = "python3 -c \"$0\" > /dev/null 2>&1 & echo $! > \"$1\"";
    let started = std::process::Command::new("sh")
        .args(["-c", shell, &script, bench.seen("holder").to_str().unwrap()])
        .status();
    assert!(started.unwrap().success());
    let holder = crate::bench::pid(&bench, "holder").await;
    let port = crate::bench::pid(&bench, "port").await;
    let mut main = bench.service("main", "echo address in use; exit 1");
    main.ports = vec![("http".into(), u16::try_from(port).unwrap())];
    host.set("box", Some(module(vec![main])));
    let why = why(&host, "main").await;
    crate::bench::kill_9(holder);
    assert!(why.starts_with(&format!("port {port} (`http`) is held by `python3")), "{why}");
    assert!(why.contains(&format!("(pid {holder})")), "{why}");
    assert!(why.ends_with("ended with 1: address in use"), "{why}");
    finish(&bench, host).await;
}

#[tokio::test]
async fn a_user_is_become_with_its_groups_and_reads_no_neighbour() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can become another user");
        return;
    }
    let bench = Bench::new();
    let host = bench.host().await;
    host.layout().make("neighbour").unwrap();
    let root = host.layout().module("neighbour");
    let secret = mesh_node::files::FileToWrite {
        path: std::path::Path::new("secret"),
        content: b"sentinel",
        mode: 0o600,
        owner: None,
    };
    mesh_node::files::write_all(&root, &[secret]).unwrap();
    let script = format!(
        "id -un > $SEEN/who; id -gn >> $SEEN/who; id -Gn >> $SEEN/who; echo $HOME >> $SEEN/who
         cat {0}/secret > $SEEN/stolen; ls {0} >> $SEEN/stolen; ls {1} >> $SEEN/stolen
         echo told > /dev/stdout && touch $SEEN/done; exec sleep 1000",
        root.display(),
        bench.state().join("logs").display(),
    );
    let mut main = bench.service("main", &script);
    main.user = Some("nobody".into());
    host.set("box", Some(module(vec![main])));
    until("its word", || bench.seen("done").exists().then_some(())).await;
    assert_eq!(bench.read("who"), "nobody\nnogroup\nnogroup\n/nonexistent\n");
    assert_eq!(bench.read("stolen"), "");
    finish(&bench, host).await;
}

#[tokio::test]
async fn a_state_folder_that_the_user_cannot_reach_is_named() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can become another user");
        return;
    }
    let bench = Bench::new();
    let host = bench.host().await;
    let closed = bench.state().parent().unwrap().to_owned();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut main = bench.service("main", "exec sleep 1000");
    main.user = Some("nobody".into());
    let mut unknown = bench.service("main", "exec sleep 1000");
    unknown.user = Some("no-such-user".into());
    unknown.digest = "2".into();
    host.set("box", Some(module(vec![main])));
    let said = why(&host, "main").await;
    assert!(
        said.contains(&format!("{} is closed to it", closed.canonicalize().unwrap().display())),
        "{said}"
    );
    host.set("box", Some(module(vec![unknown])));
    let named = |service: &mesh_node::host::ServiceState| {
        service.why.as_ref().is_some_and(|why| why.contains("useradd --system no-such-user"))
    };
    service_is(&host, "main", named).await;
    finish(&bench, host).await;
}

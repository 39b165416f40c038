//! The program itself: started, stopped, started anew, and what it may do meanwhile.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::client::Client;
use crate::stage::{consumer, file};
use crate::target::Target;
use crate::until;

/// A folder that anybody may enter, with a consumers file of one route.
struct Place {
    folder: TempDir,
}

/// A process that ends with the test.
struct Process(Child);

impl Place {
    #[expect(clippy::disallowed_methods, reason = "nobody reads it yet")]
    fn new(port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let text = file(&[consumer("notes@cellar", "n.example.org", port)]).to_string();
        std::fs::write(folder.path().join("consumers.json"), text).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A proxy with an answers file of that name.
    fn proxy(&self, answers: &str, more: &[&str]) -> Process {
        let mut command = program();
        command.arg("--consumers").arg(self.path("consumers.json")).arg("--answers").arg(self.path(answers));
        let process = Process(command.args(more).spawn().unwrap());
        let answered =
            || std::fs::read_to_string(self.path(answers)).is_ok_and(|text| text.contains("revision"));
        until("it has answered", || answered().then_some(()));
        process
    }
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mesh-reverse-proxy"));
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    command
}

/// A port that nobody has, below those that the system hands out.
fn free_port() -> u16 {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    until("a port is free", || {
        let next = u16::try_from(NEXT.fetch_add(1, Ordering::SeqCst)).unwrap();
        let port = 21_000 + (u16::try_from(std::process::id() % 500).unwrap() * 20 + next) % 10_000;
        std::net::TcpListener::bind(("127.0.0.1", port)).ok().map(|_| port)
    })
}

impl Process {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    fn ask_to_stop(&self) {
        kill_process(self.pid(), Signal::TERM).unwrap();
    }

    fn ended(&mut self) -> Option<i32> {
        until("it has ended", || self.0.try_wait().unwrap()).code()
    }

    /// A line of what the system says of it.
    fn status(&self, name: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().replace('\t', " ")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_served(port: u16) -> bool {
    let mut client = Client::connect(([127, 0, 0, 1], port).into());
    client.get("n.example.org", "/").status == 200
}

#[test]
fn it_serves_and_stops() {
    let notes = Target::named("notes");
    let (place, port) = (Place::new(notes.port), free_port());
    let mut proxy = place.proxy("answers.json", &["--listen", &format!("127.0.0.1:{port}")]);
    assert!(is_served(port));
    let answers = std::fs::read_to_string(place.path("answers.json")).unwrap();
    assert!(answers.contains(&format!("\"url\": \"http://n.example.org:{port}/\"")), "{answers}");
    assert_eq!(proxy.status("NoNewPrivs"), "1");
    proxy.ask_to_stop();
    assert_eq!(proxy.ended(), Some(0));
}

#[test]
fn as_long_as_there_is_no_file_nobody_is_told_that_a_name_is_not_served() {
    let (place, port) = (Place::new(1), free_port());
    let mut command = program();
    command.arg("--consumers").arg(place.path("later.json")).arg("--answers").arg(place.path("a"));
    let _proxy = Process(command.args(["--listen", &format!("127.0.0.1:{port}")]).spawn().unwrap());
    let address = ([127, 0, 0, 1], port).into();
    until("it listens", || std::net::TcpStream::connect(address).ok());
    assert_eq!(Client::connect(address).get("n.example.org", "/").status, 503);
    std::fs::copy(place.path("consumers.json"), place.path("later.new")).unwrap();
    std::fs::rename(place.path("later.new"), place.path("later.json")).unwrap();
    until("it is served", || {
        (Client::connect(address).get("n.example.org", "/").status == 502).then_some(())
    });
}

#[test]
fn a_port_that_somebody_has_is_named() {
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = held.local_addr().unwrap().to_string();
    let place = Place::new(1);
    let mut command = program();
    command.arg("--consumers").arg(place.path("consumers.json")).arg("--answers").arg(place.path("a"));
    let output = command.args(["--listen", &address]).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&format!("could not listen on {address}: Address already in use")), "{said}");
    assert!(!place.path("a").exists(), "nobody is told that it is served");
}

#[test]
fn as_root_it_becomes_somebody_who_may_do_nothing() {
    assert!(rustix::process::geteuid().is_root(), "this test is for root");
    let notes = Target::named("notes");
    let (place, port) = (Place::new(notes.port), free_port());
    let proxy = place.proxy("answers.json", &["--listen", &format!("127.0.0.1:{port}"), "--user", "nobody"]);
    assert!(is_served(port));
    assert_eq!(proxy.status("Uid"), "65534 65534 65534 65534");
    assert_eq!(proxy.status("Gid"), "65534 65534 65534 65534");
    assert_eq!(proxy.status("Groups"), "65534");
    assert_eq!(proxy.status("CapEff"), "0000000000000000");
    assert_eq!(proxy.status("CapPrm"), "0000000000000000");
    assert_eq!(proxy.status("NoNewPrivs"), "1");
}

#[test]
fn a_user_that_is_not_there_is_named() {
    let place = Place::new(1);
    let mut command = program();
    command.arg("--consumers").arg(place.path("consumers.json")).arg("--answers").arg(place.path("a"));
    let output = command.args(["--listen", "127.0.0.1:0", "--user", "nobody-at-all"]).stderr(Stdio::piped());
    let output = output.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("there is no user `nobody-at-all`"), "{said}");
}

/// A client that never stops: it connects, asks, and is content with nothing but the answer.
struct Load {
    stop: std::sync::Arc<AtomicBool>,
    answered: std::sync::Arc<AtomicUsize>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn new(port: u16) -> Self {
        let (stop, answered) = <(std::sync::Arc<AtomicBool>, std::sync::Arc<AtomicUsize>)>::default();
        let thread = |kept: bool| {
            let (stop, answered) = (stop.clone(), answered.clone());
            move || {
                let address = ([127, 0, 0, 1], port).into();
                let mut client = Client::connect(address);
                while !stop.load(Ordering::Relaxed) {
                    let answer = client.get("n.example.org", "/");
                    assert_eq!((answer.status, answer.text()), (200, "notes"));
                    answered.fetch_add(1, Ordering::Relaxed);
                    if !kept || answer.field("connection") == Some("close") {
                        client = Client::connect(address);
                    }
                }
            }
        };
        let threads = [true, true, false, false].map(|kept| std::thread::spawn(thread(kept))).into();
        Self { stop, answered, threads }
    }

    fn goes_on(&self) {
        let before = self.answered.load(Ordering::Relaxed);
        until("more are answered", || (self.answered.load(Ordering::Relaxed) > before + 50).then_some(()));
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn it_is_started_anew_without_losing_a_connection() {
    let notes = Target::named("notes");
    let (place, port) = (Place::new(notes.port), free_port());
    let (sockets, listen) = (place.path("sockets"), format!("127.0.0.1:{port}"));
    let sockets = sockets.to_str().unwrap();
    let holder =
        Process(program().args(["hold", "--listen", &listen, "--sockets", sockets]).spawn().unwrap());
    let arguments = ["--listen", &listen, "--sockets", sockets];
    let mut first = place.proxy("a.json", &arguments);
    let load = Load::new(port);
    load.goes_on();
    // Another beside it, and then the first one stops.
    let mut second = place.proxy("b.json", &arguments);
    first.ask_to_stop();
    assert_eq!(first.ended(), Some(0));
    load.goes_on();
    // Stopped first, and then another is started: meanwhile they wait.
    second.ask_to_stop();
    assert_eq!(second.ended(), Some(0));
    std::thread::sleep(Duration::from_millis(300));
    let mut third = place.proxy("c.json", &arguments);
    load.goes_on();
    load.end();
    // Without its holder it makes room for one with another.
    drop(holder);
    assert_eq!(third.ended(), Some(0));
}

#[test]
fn sockets_are_handed_to_nobody_else() {
    assert!(rustix::process::geteuid().is_root(), "this test is for root");
    let (place, port) = (Place::new(1), free_port());
    let (sockets, listen) = (place.path("sockets"), format!("127.0.0.1:{port}"));
    let sockets = sockets.to_str().unwrap();
    let hold = ["hold", "--listen", &listen, "--sockets", sockets, "--for", "daemon"];
    let _holder = Process(program().args(hold).spawn().unwrap());
    until("it holds", || Path::new(sockets).exists().then_some(()));
    let as_user = |name: &str| {
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid",
            name,
            "--regid",
            name,
            "--clear-groups",
            env!("CARGO_BIN_EXE_mesh-reverse-proxy"),
        ]);
        command.arg("--consumers").arg(place.path("consumers.json"));
        command.arg("--answers").arg(place.path(name)).args(["--listen", &listen, "--sockets", sockets]);
        command.stdin(Stdio::null());
        command
    };
    let refused = as_user("games").stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && said.contains("it holds them for another user"), "{said}");
    let _proxy = Process(as_user("daemon").spawn().unwrap());
    until("it has answered", || place.path("daemon").exists().then_some(()));
    let mut client = Client::connect(([127, 0, 0, 1], port).into());
    assert_eq!(client.get("x.example.org", "/").status, 421);
}

#[test]
fn other_sockets_than_those_that_are_held_are_named() {
    let (place, port) = (Place::new(1), free_port());
    let (sockets, listen) = (place.path("sockets"), format!("127.0.0.1:{port}"));
    let sockets = sockets.to_str().unwrap();
    let _holder =
        Process(program().args(["hold", "--listen", &listen, "--sockets", sockets]).spawn().unwrap());
    let mut command = program();
    command.arg("--consumers").arg(place.path("consumers.json")).arg("--answers").arg(place.path("a"));
    let output =
        command.args(["--listen", "127.0.0.1:1", "--sockets", sockets]).stderr(Stdio::piped()).output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(said.contains(&format!("has sockets for {listen}, and not for 127.0.0.1:1")), "{said}");
}

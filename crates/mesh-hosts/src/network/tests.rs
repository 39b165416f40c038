//! Hosts reach each other and nobody else, are cut off and come back, and leave nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{Host, Network, require};

const PORT: u16 = 7000;

fn sleep() -> Command {
    let mut command = Command::new("sleep");
    command.arg("1000");
    command
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(20), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether one host reaches another, where somebody listens.
fn reaches(from: &Host, to: &Host) -> bool {
    let to: SocketAddr = format!("{}:{PORT}", to.address()).parse().unwrap();
    from.within(|| TcpStream::connect_timeout(&to, Duration::from_millis(300))).is_ok()
}

fn two() -> Option<(Network, Host, Host)> {
    let network = require()?;
    let hosts = ["attic", "cellar"].map(|name| network.host(name).unwrap());
    let [attic, cellar] = hosts;
    Some((network, attic, cellar))
}

#[test]
fn hosts_reach_each_other_and_the_machine_does_not() {
    let Some((_network, attic, cellar)) = two() else { return };
    let listener = attic.within(|| TcpListener::bind(("0.0.0.0", PORT))).unwrap();
    until("cellar reaches attic", || reaches(&cellar, &attic));
    let mut out = cellar.within(|| TcpStream::connect((attic.address(), PORT))).unwrap();
    out.write_all(b"good day").unwrap();
    drop(out);
    let mut read = String::new();
    let one = std::iter::repeat_with(|| listener.accept().unwrap()).find_map(|(mut one, _)| {
        read.clear();
        one.read_to_string(&mut read).unwrap();
        (!read.is_empty()).then_some(one)
    });
    assert_eq!(read, "good day");
    assert_eq!(one.unwrap().peer_addr().unwrap().ip().to_string(), cellar.address());
    // A port that one host holds is free on the other, and nothing of it is seen from here.
    cellar.within(|| TcpListener::bind(("0.0.0.0", PORT))).unwrap();
    let own: SocketAddr = format!("{}:{PORT}", attic.address()).parse().unwrap();
    // Somebody else may be there, in the machine's own network.
    let _elsewhere = TcpStream::connect_timeout(&own, Duration::from_millis(200));
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_cable_is_pulled_and_plugged_in_again() {
    let Some((_network, attic, cellar)) = two() else { return };
    let _listener = attic.within(|| TcpListener::bind(("0.0.0.0", PORT))).unwrap();
    until("cellar reaches attic", || reaches(&cellar, &attic));
    attic.cut();
    assert!(!reaches(&cellar, &attic));
    // It reaches itself all the same.
    assert!(reaches(&attic, &attic));
    attic.restore();
    until("cellar reaches attic again", || reaches(&cellar, &attic));
}

#[test]
fn what_a_host_runs_is_known_is_paused_and_loses_its_power() {
    let Some((network, attic, cellar)) = two() else { return };
    let mut parent = Command::new("sh");
    // A child that leaves its parent, its session and its group belongs to the host all the same.
    parent.args(["-c", "setsid sleep 1000 & echo begun; sleep 1000"]);
    attic.start("parent", parent);
    let other = cellar.start("sleep", sleep());
    until("three run", || attic.processes().len() == 3);
    assert_eq!(attic.log("parent"), "begun\n");
    attic.pause();
    let state = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    until("all are stopped", || attic.processes().iter().all(|one| state(one.pid).contains(") T ")));
    attic.go_on();
    until("all go on", || attic.processes().iter().all(|one| state(one.pid).contains(") S ")));
    attic.power_cut();
    assert_eq!(attic.processes(), []);
    assert!(other.runs());
    let (space, folder) = (format!("/run/netns/{}", cellar.space()), network.folder().to_owned());
    drop(network);
    drop(attic);
    assert!(folder.exists() && std::fs::exists(&space).unwrap());
    drop(cellar);
    assert!(!folder.exists() && !std::fs::exists(&space).unwrap());
    assert!(!other.runs());
}

#[test]
fn a_panic_leaves_nothing() {
    let Some((network, attic, cellar)) = two() else { return };
    let process = attic.start("sleep", sleep());
    let space = format!("/run/netns/{}", attic.space());
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _all = (network, attic, cellar);
        panic!("a test that fails");
    }));
    assert!(ended.is_err());
    assert!(!process.runs());
    assert_eq!(std::fs::metadata(space).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn what_a_run_that_is_gone_has_left_is_removed() {
    let Some((network, attic, _)) = two() else { return };
    // A process that has ended is nobody's.
    let mut gone = sleep().spawn().unwrap();
    let pid = i32::try_from(gone.id()).unwrap();
    let began = crate::Process::of(pid).unwrap().began;
    let name = format!("mesh-{pid}.{began}-0-attic");
    crate::ip::ip(&format!("netns add {name}")).unwrap();
    let mut within = Command::new("ip");
    let left = within.args(["netns", "exec", &name, "sleep", "1000"]).spawn().unwrap();
    crate::left_over::remove();
    assert!(std::fs::exists(format!("/run/netns/{name}")).unwrap(), "its owner runs");
    gone.kill().unwrap();
    gone.wait().unwrap();
    crate::left_over::remove();
    assert!(!std::fs::exists(format!("/run/netns/{name}")).unwrap());
    let ended = { left }.wait().unwrap();
    assert!(!ended.success(), "it was ended");
    drop(network);
    assert!(std::fs::exists(format!("/run/netns/{}", attic.space())).unwrap(), "ours stay");
}

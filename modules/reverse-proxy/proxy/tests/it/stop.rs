//! What happens when the proxy is asked to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::stage::{Stage, consumer};
use crate::target::{Target, says};
use crate::until;

#[test]
fn what_was_begun_is_answered_and_what_waits_ends() {
    static GO: AtomicBool = AtomicBool::new(false);
    let notes = Target::new(|asked, stream| {
        if asked.path() == "/slow" {
            until("it may answer", || GO.load(Ordering::SeqCst).then_some(()));
        }
        says(stream, "notes")
    });
    let mut stage = Stage::new();
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let (mut slow, mut idle) = (stage.client(), stage.client());
    assert_eq!(idle.get("n.example.org", "/").status, 200);
    slow.send("GET /slow HTTP/1.1\r\nHost: n.example.org\r\n\r\n");
    until("it is asked", || (notes.asked().len() == 2).then_some(()));
    stage.ask_to_stop();
    assert!(idle.is_closed());
    until("nobody listens", || std::net::TcpStream::connect(stage.address).is_err().then_some(()));
    GO.store(true, Ordering::SeqCst);
    let answer = slow.answer();
    assert_eq!((answer.status, answer.text(), answer.field("connection")), (200, "notes", Some("close")));
    stage.stopped();
}

#[test]
fn whoever_takes_too_long_is_cut_off() {
    let notes = Target::new(|_, _| {
        std::thread::sleep(Duration::from_secs(20));
        false
    });
    let mut stage = Stage::with(|config| config.limits.drain = Duration::from_secs(1));
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: n.example.org\r\n\r\n");
    until("it is asked", || (notes.asked().len() == 1).then_some(()));
    let asked = Instant::now();
    stage.ask_to_stop();
    stage.stopped();
    assert!(asked.elapsed() >= Duration::from_secs(1) && asked.elapsed() < Duration::from_secs(10));
    assert!(client.is_closed());
}

#[test]
fn with_nothing_to_do_it_stops_at_once() {
    let mut stage = Stage::new();
    let asked = Instant::now();
    stage.ask_to_stop();
    stage.stopped();
    assert!(asked.elapsed() < Duration::from_millis(400), "{:?}", asked.elapsed());
}

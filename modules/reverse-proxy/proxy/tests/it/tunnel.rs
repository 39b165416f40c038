//! Two that speak something else than HTTP.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::stage::{Stage, consumer};
use crate::target::{Asked, Target};

/// A target that speaks backwards once it is asked to.
fn backwards() -> Target {
    Target::new(|asked: &Asked, stream| {
        assert_eq!(asked.all("upgrade"), ["backwards"]);
        assert_eq!(asked.all("connection"), ["upgrade"]);
        stream
            .write_all(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: backwards\r\nX-Said: yes\r\n\r\n")
            .unwrap();
        let mut piece = [0; 4];
        while stream.read_exact(&mut piece).is_ok() {
            piece.reverse();
            stream.write_all(&piece).unwrap();
        }
        false
    })
}

const ASK: &str =
    "GET /ws HTTP/1.1\r\nHost: n.example.org\r\nConnection: Upgrade\r\nUpgrade: backwards\r\n\r\n";

#[test]
fn what_is_said_after_the_change_is_passed_on_untouched() {
    let (stage, target) = (Stage::new(), backwards());
    stage.serve(&[consumer("notes@cellar", "n.example.org", target.port)]);
    let mut client = stage.client();
    client.send(ASK);
    let answer = client.head();
    assert_eq!(
        (answer.status, answer.field("upgrade"), answer.field("x-said")),
        (101, Some("backwards"), Some("yes"))
    );
    // Not HTTP, in any reading.
    for (said, heard) in [("abcd", "dcba"), ("\n\n\0\r", "\r\0\n\n"), ("GET ", " TEG")] {
        client.send(said);
        assert_eq!(client.bytes(4), heard.as_bytes());
    }
    client.stream().shutdown(std::net::Shutdown::Write).unwrap();
    assert!(client.is_closed());
}

#[test]
fn what_was_sent_early_is_passed_on_too() {
    let (stage, target) = (Stage::new(), backwards());
    stage.serve(&[consumer("notes@cellar", "n.example.org", target.port)]);
    let mut client = stage.client();
    client.send(format!("{ASK}abcd"));
    assert_eq!(client.head().status, 101);
    assert_eq!(client.bytes(4), b"dcba");
}

#[test]
fn one_ends_some_time_after_its_route() {
    let stage = Stage::with(|config| {
        config.limits.withdrawn = Duration::from_secs(1);
        config.limits.idle = Duration::from_millis(200);
    });
    let target = backwards();
    stage.serve(&[consumer("notes@cellar", "n.example.org", target.port)]);
    let mut client = stage.client();
    client.send(ASK);
    assert_eq!(client.head().status, 101);
    std::thread::sleep(Duration::from_millis(600));
    client.send("abcd");
    assert_eq!(client.bytes(4), b"dcba", "nobody has to speak all the time");
    stage.serve(&[]);
    let withdrawn = Instant::now();
    assert!(client.is_closed());
    assert!(withdrawn.elapsed() > Duration::from_millis(800), "{:?}", withdrawn.elapsed());
}

#[test]
fn a_stream_of_events_ends_some_time_after_its_route_too() {
    let stage = Stage::with(|config| config.limits.withdrawn = Duration::from_millis(500));
    let target = Target::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\ndata: x\n\n").unwrap();
        let _ = stream.read(&mut [0; 1]);
        false
    });
    stage.serve(&[consumer("notes@cellar", "n.example.org", target.port)]);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: n.example.org\r\n\r\n");
    client.head();
    assert!(client.chunk().unwrap().is_some());
    stage.serve(&[]);
    assert!(client.chunk().is_err(), "it was cut off");
}

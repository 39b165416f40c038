//! Clients that take their time: each has a limit, and nobody else waits for it.

use std::time::{Duration, Instant};

use crate::stage::{Stage, consumer};
use crate::target::Target;

fn impatient() -> Stage {
    Stage::with(|config| {
        config.limits.head = Duration::from_secs(1);
        config.limits.idle = Duration::from_secs(1);
        config.limits.stall = mesh_reverse_proxy::Stall { still: Duration::from_secs(1), rate: 1000 };
    })
}

#[test]
fn a_head_that_trickles_in_is_given_up() {
    let stage = impatient();
    let mut client = stage.client();
    let begun = Instant::now();
    for byte in "GET / HTTP/1.1\r\nHost: n.example.org\r\nX: y".bytes().cycle() {
        if begun.elapsed() > Duration::from_millis(900) {
            break;
        }
        client.send([byte]);
        std::thread::sleep(Duration::from_millis(50));
    }
    let answer = client.answer();
    assert_eq!(answer.status, 408);
    assert!(answer.text().contains("its head did not arrive in time"), "{}", answer.text());
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn connections_that_send_nothing_end() {
    let (stage, notes) = (impatient(), Target::named("notes"));
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut silent = stage.client();
    assert!(silent.is_closed());
    let mut kept = stage.client();
    assert_eq!(kept.get("n.example.org", "/").status, 200);
    assert!(kept.is_closed());
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let (stage, notes) = (impatient(), Target::named("notes"));
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    client.send("POST / HTTP/1.1\r\nHost: n.example.org\r\nContent-Length: 100\r\n\r\nhello");
    let answer = client.answer();
    assert_eq!(answer.status, 408);
    assert!(answer.text().contains("the client's body did not arrive in time"), "{}", answer.text());
    assert!(client.is_closed());
    assert!(notes.asked().is_empty(), "the target never had a whole request");
}

#[test]
fn a_client_that_takes_nothing_is_left() {
    let notes = Target::new(|_, stream| {
        use std::io::Write;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        // More than all buffers between here and there hold.
        let piece = vec![b'x'; 1 << 20];
        while stream.write_all(&piece).is_ok() {}
        false
    });
    let stage = impatient();
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: n.example.org\r\n\r\n");
    client.head();
    // Until then the proxy has given up, so that what is left to read ends.
    std::thread::sleep(Duration::from_secs(3));
    let mut end = client.chunk();
    while let Ok(Some(_)) = end {
        end = client.chunk();
    }
    assert!(end.is_err(), "it was cut off");
}

#[test]
fn as_many_as_there_may_be_and_the_next_waits() {
    let stage = Stage::with(|config| config.limits.connections = 2);
    let notes = Target::named("notes");
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let (mut a, mut b) = (stage.client(), stage.client());
    assert_eq!((a.get("n.example.org", "/").status, b.get("n.example.org", "/").status), (200, 200));
    let mut c = stage.client();
    c.send("GET / HTTP/1.1\r\nHost: n.example.org\r\n\r\n");
    c.stream().set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(c.try_answer(true).is_err(), "there are two");
    c.stream().set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    drop(a);
    assert_eq!(c.answer().status, 200);
}

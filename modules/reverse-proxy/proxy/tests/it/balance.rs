//! One module on two nodes: who gets a request, and what happens when one of them dies.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::stage::{Consumer, Stage, consumer};
use crate::target::{Target, says};
use crate::until;

fn both<'t>(a: &Target, b: &Target) -> [Consumer<'t>; 2] {
    [consumer("notes@attic", "n.example.org", a.port), consumer("notes@cellar", "n.example.org", b.port)]
}

#[test]
fn both_are_used() {
    let (stage, a, b) = (Stage::new(), Target::named("a"), Target::named("b"));
    stage.serve(&both(&a, &b));
    let mut client = stage.client();
    for _ in 0..20 {
        assert_eq!(client.get("n.example.org", "/").status, 200);
    }
    assert_eq!((a.asked().len(), b.asked().len()), (10, 10));
}

#[test]
fn the_one_with_less_to_do_is_asked() {
    static GO: AtomicBool = AtomicBool::new(false);
    let slow = Target::new(|_, stream| {
        until("it may answer", || GO.load(Ordering::SeqCst).then_some(()));
        says(stream, "slow")
    });
    let (stage, quick) = (Stage::new(), Target::named("quick"));
    stage.serve(&both(&slow, &quick));
    // Until the slow one has a request.
    let mut waiting = stage.client();
    until("the slow one is asked", || {
        if slow.asked().is_empty() {
            waiting.send("GET / HTTP/1.1\r\nHost: n.example.org\r\n\r\n");
            until("somebody is asked", || {
                (!slow.asked().is_empty() || !quick.asked().is_empty()).then_some(())
            });
        }
        if slow.asked().is_empty() {
            waiting.answer();
        }
        (!slow.asked().is_empty()).then_some(())
    });
    for _ in 0..20 {
        assert_eq!(stage.get("n.example.org", "/").text(), "quick");
    }
    GO.store(true, Ordering::SeqCst);
    assert_eq!(waiting.answer().text(), "slow");
}

#[test]
fn no_request_fails_that_can_be_tried_again_when_one_is_killed() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let (stage, a, mut b) = (Stage::new(), Target::named("a"), Target::named("b"));
    stage.serve(&both(&a, &b));
    let address = stage.address;
    let load: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = crate::client::Client::connect(address);
                let mut count = 0;
                while !STOP.load(Ordering::Relaxed) {
                    assert_eq!(client.get("n.example.org", "/").status, 200);
                    count += 1;
                }
                count
            })
        })
        .collect();
    until("both work", || (a.asked().len() > 20 && b.asked().len() > 20).then_some(()));
    b.kill();
    let (killed, before) = (Instant::now(), a.asked().len());
    until("the other goes on", || (a.asked().len() > before + 200).then_some(()));
    assert!(killed.elapsed() < Duration::from_secs(20));
    STOP.store(true, Ordering::Relaxed);
    let answered: usize = load.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(answered > 200);
}

#[test]
fn a_body_goes_to_the_other_where_the_first_cannot_be_reached() {
    let (stage, a, mut b) = (Stage::new(), Target::named("a"), Target::named("b"));
    stage.serve(&both(&a, &b));
    b.kill();
    for _ in 0..6 {
        let mut client = stage.client();
        client.send("POST / HTTP/1.1\r\nHost: n.example.org\r\nContent-Length: 5\r\n\r\nhello");
        assert_eq!(client.answer().text(), "a");
    }
    assert!(a.asked().iter().all(|asked| asked.body == b"hello"));
}

#[test]
fn what_may_not_be_done_twice_is_not() {
    let breaks = |_: &crate::target::Asked, _: &mut crate::target::Link| false;
    let (stage, a, b) = (Stage::new(), Target::new(breaks), Target::new(breaks));
    stage.serve(&both(&a, &b));
    for (request, tries) in [
        ("POST / HTTP/1.1\r\nHost: n.example.org\r\nContent-Length: 0\r\n\r\n", 1),
        ("PUT / HTTP/1.1\r\nHost: n.example.org\r\nContent-Length: 1\r\n\r\nx", 1),
        ("GET / HTTP/1.1\r\nHost: n.example.org\r\n\r\n", 2),
        ("DELETE / HTTP/1.1\r\nHost: n.example.org\r\n\r\n", 2),
    ] {
        let before = a.asked().len() + b.asked().len();
        let mut client = stage.client();
        client.send(request);
        assert_eq!(client.answer().status, 502, "{request}");
        assert_eq!(a.asked().len() + b.asked().len(), before + tries, "{request}");
    }
}

#[test]
fn a_dead_one_is_out_within_two_seconds_and_back_when_it_is_up() {
    let (stage, a, mut b) = (Stage::new(), Target::named("a"), Target::named("b"));
    stage.serve(&both(&a, &b));
    let port = b.port;
    b.kill();
    // Not one request finds it out.
    std::thread::sleep(Duration::from_secs(2));
    // From here on it is not even tried: whoever listens there now would see it.
    let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    listener.set_nonblocking(true).unwrap();
    for _ in 0..10 {
        assert_eq!(stage.get("n.example.org", "/").text(), "a");
    }
    drop(listener);
    let b = Target::at(port, |_, stream| says(stream, "b"));
    until("it is asked again", || {
        stage.get("n.example.org", "/");
        (!b.asked().is_empty()).then_some(())
    });
}

#[test]
fn a_connection_that_the_target_closed_meanwhile_costs_nobody_a_request() {
    // It closes after each answer without saying so first.
    let notes = Target::new(|_, stream| {
        says(stream, "notes");
        false
    });
    let stage = Stage::new();
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    for turn in 0..50 {
        client.send("POST / HTTP/1.1\r\nHost: n.example.org\r\nContent-Length: 5\r\n\r\n");
        client.stream().flush().unwrap();
        client.send("hello");
        assert_eq!(client.answer().status, 200, "{turn}");
    }
}

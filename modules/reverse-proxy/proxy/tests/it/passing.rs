//! What is passed on, and how: fields, bodies as they come, HTTP/2.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc;

use crate::stage::{Stage, consumer};
use crate::target::{Target, says};

#[test]
fn a_target_is_told_where_a_request_came_from_and_believes_nobody_else() {
    let (stage, notes) = (Stage::new(), Target::named("notes"));
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    client.send(concat!(
        "GET /x HTTP/1.1\r\nHost: n.example.org:8080\r\n",
        "Forwarded: for=1.2.3.4\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Proto: https\r\n",
        "X-Forwarded-Port: 1\r\nX-Forwarded-Prefix: /evil\r\nX-Real-IP: 1.2.3.4\r\nX-Request-Id: evil\r\n",
        "X_Forwarded_For: 1.2.3.4\r\nX_Real-IP: 1.2.3.4\r\nKeep_Alive: evil\r\n",
        "Connection: keep-alive, X-Mine, Content-Length\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\nTE: gzip\r\n",
        "Accept: a\r\nAccept: b\r\nX-Other: c\r\nCookie: d\r\nAuthorization: e\r\n\r\n"
    ));
    assert_eq!(client.answer().status, 200);
    let asked = notes.asked().remove(0);
    assert_eq!(asked.line, "GET /x HTTP/1.1");
    let mut fields = asked.fields.clone();
    let id = asked.all("x-request-id")[0].to_owned();
    assert!(id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    fields.retain(|(name, _)| name != "x-request-id");
    fields.sort();
    let expected = [
        ("accept", "a"),
        ("accept", "b"),
        ("authorization", "e"),
        ("cookie", "d"),
        ("forwarded", "for=127.0.0.1;host=\"n.example.org:8080\";proto=http"),
        ("host", "n.example.org:8080"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-host", "n.example.org:8080"),
        ("x-forwarded-proto", "http"),
        ("x-other", "c"),
        ("x-real-ip", "127.0.0.1"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(fields, expected);
}

#[test]
fn what_is_between_the_target_and_us_stays_there() {
    let notes = Target::new(|_, stream| {
        let head = "HTTP/1.1 200 OK\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\nX-Other: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nto the end";
        stream.write_all(head.as_bytes()).unwrap();
        false
    });
    let stage = Stage::new();
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    let answer = client.get("n.example.org", "/");
    assert_eq!(answer.text(), "to the end");
    let mut names: Vec<&str> = answer.fields.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["date", "set-cookie", "set-cookie", "transfer-encoding", "x-other"]);
    // The client's connection is another matter.
    assert_eq!(client.get("n.example.org", "/").status, 200);
}

#[test]
fn connections_to_a_target_are_used_again() {
    let (stage, notes) = (Stage::with(|config| config.workers = 1), Target::named("notes"));
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    for _ in 0..20 {
        assert_eq!(stage.get("n.example.org", "/").text(), "notes");
    }
    assert_eq!(notes.connections(), 1);
}

#[test]
fn a_body_is_passed_on_as_it_comes_both_ways() {
    // The target answers each piece before the next is sent, so nothing can be waiting anywhere.
    let notes = Target::new(|_, stream| {
        write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        loop {
            if stream.line().unwrap() == "0" {
                stream.line().unwrap();
                stream.write_all(b"0\r\n\r\n").unwrap();
                return true;
            }
            let piece = stream.line().unwrap();
            let chunk = format!("{:x}\r\n<{piece}>\r\n", piece.len() + 2);
            stream.write_all(chunk.as_bytes()).unwrap();
        }
    });
    let stage = Stage::new();
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    client.send("POST /unread HTTP/1.1\r\nHost: n.example.org\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut head = None;
    for piece in ["one", "two", "three"] {
        client.send(format!("{:x}\r\n{piece}\r\n", piece.len()));
        if head.is_none() {
            head = Some(client.head());
        }
        assert_eq!(client.chunk().unwrap().unwrap(), format!("<{piece}>").as_bytes());
    }
    client.send("0\r\n\r\n");
    assert_eq!(client.chunk().unwrap(), None);
}

#[test]
fn bodies_of_every_kind_arrive() {
    let (stage, notes) = (Stage::new(), Target::named("notes"));
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    let large = "x".repeat(3_000_000);
    for body in ["", "hello", &large] {
        client.send(format!(
            "PUT / HTTP/1.1\r\nHost: n.example.org\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!(client.answer().text(), "notes");
        let asked = notes.asked().pop().unwrap();
        assert!(asked.body == body.as_bytes());
        assert_eq!(asked.all("content-length"), [body.len().to_string()]);
        assert_eq!(asked.all("transfer-encoding"), [""; 0]);
    }
    client.send("POST / HTTP/1.1\r\nHost: n.example.org\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n3;x=y\r\nabc\r\n0\r\nSum: 6\r\n\r\n");
    assert_eq!(client.answer().text(), "notes");
    let asked = notes.asked().pop().unwrap();
    assert_eq!((&asked.body[..], asked.all("transfer-encoding")), (&b"abc"[..], vec!["chunked"]));
    assert_eq!(asked.all("trailer sum"), ["6"]);
    client
        .send("POST / HTTP/1.1\r\nHost: n.example.org\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    client.send("hello");
    assert_eq!(client.answer().text(), "notes");
    assert_eq!(notes.asked().pop().unwrap().all("expect"), [""; 0]);
    client.send("HEAD / HTTP/1.1\r\nHost: n.example.org\r\n\r\n");
    assert_eq!(client.head().field("content-length"), Some("5"));
    let three = "GET /1 HTTP/1.1\r\nHost: n.example.org\r\n\r\n".repeat(3);
    client.send(three);
    for _ in 0..3 {
        assert_eq!(client.answer().text(), "notes");
    }
}

#[test]
fn events_arrive_when_they_are_sent() {
    let (send, receive) = mpsc::channel::<&'static str>();
    let receive = Arc::new(std::sync::Mutex::new(receive));
    let notes = Target::new(move |_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n").unwrap();
        while let Ok(event) = receive.lock().unwrap().recv() {
            stream.write_all(format!("data: {event}\n\n").as_bytes()).unwrap();
        }
        false
    });
    let stage = Stage::new();
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    client.send("GET /events HTTP/1.1\r\nHost: n.example.org\r\n\r\n");
    assert_eq!(client.head().field("content-type"), Some("text/event-stream"));
    for event in ["one", "two"] {
        send.send(event).unwrap();
        assert_eq!(client.chunk().unwrap().unwrap(), format!("data: {event}\n\n").as_bytes());
    }
    drop(send);
    assert_eq!(client.chunk().unwrap(), None);
}

#[test]
fn a_target_that_refuses_is_502_and_one_that_is_late_504_each_with_its_name() {
    let late = Target::new(|_, _| {
        std::thread::sleep(std::time::Duration::from_secs(3));
        false
    });
    let broken = Target::new(|_, _| false);
    let stage = Stage::with(|config| config.limits.answer = std::time::Duration::from_secs(1));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    stage.serve(&[
        consumer("late@cellar", "late.example.org", late.port),
        consumer("gone@cellar", "gone.example.org/x", nobody),
        consumer("broken@cellar", "broken.example.org", broken.port),
    ]);
    let mut client = stage.client();
    let cases = [
        (
            "gone.example.org",
            502,
            "502 Bad Gateway\n\nThe target of `gone.example.org/x` cannot be reached: it refuses connections.\n",
        ),
        (
            "late.example.org",
            504,
            "504 Gateway Timeout\n\nThe target of `late.example.org` did not answer within 1 s.\n",
        ),
        (
            "broken.example.org",
            502,
            "502 Bad Gateway\n\nThe target of `broken.example.org` broke off before it answered.\n",
        ),
    ];
    for (host, status, page) in cases {
        let answer = client.get(host, "/x");
        assert_eq!(answer.status, status);
        assert!(answer.text().starts_with(page), "{}", answer.text());
        assert!(!answer.text().contains("127.0.0.1"), "{}", answer.text());
    }
}

#[test]
fn a_target_that_goes_away_in_the_middle_cuts_its_answer_short() {
    let notes = Target::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this").unwrap();
        false
    });
    let stage = Stage::new();
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    assert_eq!(client.try_get("n.example.org", "/").unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_target_may_answer_before_it_has_read_all() {
    let notes = Target::new(|asked, stream| match asked.path() {
        "/unread" => {
            stream
                .write_all(
                    b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                )
                .unwrap();
            std::thread::sleep(std::time::Duration::from_millis(200));
            false
        }
        _ => says(stream, "notes"),
    });
    let stage = Stage::new();
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    let mut client = stage.client();
    client.send("POST /unread HTTP/1.1\r\nHost: n.example.org\r\nContent-Length: 100000000\r\n\r\nhello");
    assert_eq!(client.answer().status, 413);
    assert_eq!(stage.get("n.example.org", "/").text(), "notes");
}

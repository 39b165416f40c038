//! What the internet sends: refused before a target sees any of it, with a page that says why.

use std::io::{Read, Write};

use crate::stage::{Stage, consumer};
use crate::target::Target;

fn stage() -> (Stage, Target) {
    let (stage, notes) = (Stage::new(), Target::named("notes"));
    stage.serve(&[consumer("notes@cellar", "n.example.org", notes.port)]);
    (stage, notes)
}

/// Each kind of refusal once; `gate`'s own tests have every case.
#[test]
fn what_could_be_smuggled_reaches_no_target() {
    let (stage, notes) = stage();
    let cases = [
        (
            "CL.TE",
            "POST / HTTP/1.1\r\nHost: n.example.org\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
            400,
        ),
        (
            "TE.CL",
            "POST / HTTP/1.1\r\nHost: n.example.org\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\nGPOST / HTTP/1.1\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            "TE.TE",
            "POST / HTTP/1.1\r\nHost: n.example.org\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            "two lengths",
            "POST / HTTP/1.1\r\nHost: n.example.org\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
            400,
        ),
        ("folded", "GET / HTTP/1.1\r\nHost: n.example.org\r\nX: a\r\n b\r\n\r\n", 400),
        ("bare line feeds", "GET / HTTP/1.1\nHost: n.example.org\n\n", 400),
        ("two hosts", "GET / HTTP/1.1\r\nHost: n.example.org\r\nHost: x\r\n\r\n", 400),
        ("another host in the target", "GET http://x/ HTTP/1.1\r\nHost: n.example.org\r\n\r\n", 400),
        ("a blank before the colon", "GET / HTTP/1.1\r\nHost : n.example.org\r\n\r\n", 400),
        ("another version", "GET / HTTP/1.9\r\nHost: n.example.org\r\n\r\n", 505),
        (
            "too long a target",
            &format!("GET /{} HTTP/1.1\r\nHost: n.example.org\r\n\r\n", "x".repeat(9000)),
            414,
        ),
        (
            "too large a head",
            &format!("GET / HTTP/1.1\r\nHost: n.example.org\r\nX: {}\r\n\r\n", "x".repeat(17_000)),
            431,
        ),
        (
            "too many fields",
            &format!("GET / HTTP/1.1\r\nHost: n.example.org\r\n{}\r\n", "X: y\r\n".repeat(100)),
            431,
        ),
        ("CONNECT", "CONNECT n.example.org:80 HTTP/1.1\r\nHost: n.example.org:80\r\n\r\n", 405),
        ("TRACE", "TRACE / HTTP/1.1\r\nHost: n.example.org\r\n\r\n", 405),
    ];
    for (name, request, status) in cases {
        let mut client = stage.client();
        client.send(request);
        let answer = client.answer();
        assert_eq!(answer.status, status, "{name}: {}", answer.text());
        assert!(answer.text().contains("\nnode gate, request "), "{}", answer.text());
        if status != 405 && name != "another host in the target" {
            assert_eq!(answer.field("connection"), Some("close"), "{name}");
            assert!(client.is_closed(), "{name}: nothing more is read");
        }
    }
    assert_eq!(notes.asked(), []);
}

#[test]
fn what_comes_before_the_refused_is_answered() {
    let (stage, notes) = stage();
    let mut client = stage.client();
    client
        .send("GET /good HTTP/1.1\r\nHost: n.example.org\r\n\r\nGET /bad HTTP/1.1\nHost: n.example.org\n\n");
    assert_eq!(client.answer().status, 200);
    let refused = client.answer();
    assert_eq!(refused.status, 400);
    assert!(
        refused.text().contains("The request is not read: a line ends with a line feed alone."),
        "{}",
        refused.text()
    );
    assert!(client.is_closed());
    assert_eq!(notes.asked().len(), 1);
}

#[test]
fn a_refused_body_is_400_and_never_a_request() {
    let (stage, notes) = stage();
    let mut client = stage.client();
    client.send("POST /unread HTTP/1.1\r\nHost: n.example.org\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send("3\r\nabcd\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: n.example.org\r\n\r\n");
    assert!(matches!(client.answer().status, 400 | 200), "the target may have answered already");
    assert!(notes.asked().iter().all(|asked| asked.path() == "/unread"));
    assert!(client.is_closed());
}

#[test]
fn the_sign_of_a_refused_request_cannot_be_made() {
    let (stage, _notes) = stage();
    let mut client = stage.client();
    // What the sign looks like is no secret; its name is.
    client.send(format!("GET / HTTP/1.1\r\nHost: n.example.org\r\nx-{}: 1\r\n\r\n", "0".repeat(32)));
    assert_eq!(client.answer().status, 200);
}

#[test]
fn a_protocol_by_which_requests_would_pass_unseen_is_not_asked_for() {
    let (stage, notes) = stage();
    let mut client = stage.client();
    client.send("GET / HTTP/1.1\r\nHost: n.example.org\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n");
    assert_eq!(client.answer().text(), "notes");
    let asked = notes.asked().remove(0);
    assert!(
        ["connection", "upgrade", "http2-settings"].iter().all(|name| asked.all(name).is_empty()),
        "{asked:?}"
    );
}

#[test]
fn a_wish_that_is_not_granted_goes_on_as_http() {
    let (stage, notes) = stage();
    let mut client = stage.client();
    let wish = "GET /1 HTTP/1.1\r\nHost: n.example.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    // What comes after it is looked at as any request.
    client.send(format!("{wish}GET /2 HTTP/1.1\r\nHost: n.example.org\r\n\r\n{wish}GET /bad HTTP/1.1\n\n"));
    for status in [200, 200, 200, 400] {
        assert_eq!(client.answer().status, status);
    }
    let asked: Vec<String> = notes.asked().iter().map(|asked| asked.path().to_owned()).collect();
    assert_eq!(asked, ["/1", "/2", "/1"]);
}

#[test]
fn noise_is_answered_or_closed_and_nobody_else_notices() {
    let (stage, _notes) = stage();
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for _ in 0..200 {
        let length = usize::try_from(random() % 400).unwrap();
        let noise: Vec<u8> = (0..length).map(|_| u8::try_from(random() & 0xff).unwrap()).collect();
        let mut stream = std::net::TcpStream::connect(stage.address).unwrap();
        let _ = stream.write_all(&noise);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 4") || answer.starts_with(b"HTTP/1.1 505")
        );
    }
    assert_eq!(stage.get("n.example.org", "/").status, 200);
}

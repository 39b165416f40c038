//! What passes the gate, and what does not: the known ways to smuggle a request, each with the reason that it is refused for.

use super::*;

fn gate() -> Gate {
    Gate::new(Sizes::default())
}

/// What becomes of a client's bytes, all at once.
fn all(bytes: &[u8]) -> Result<Passed, Refusal> {
    told(gate().pass(bytes))
}

fn told(passed: Passed) -> Result<Passed, Refusal> {
    match passed.then {
        Then::Refused(refusal) => Err(refusal),
        _ => Ok(passed),
    }
}

/// The same, a byte at a time, as a slow client sends them.
fn trickled(bytes: &[u8]) -> Result<Passed, Refusal> {
    let mut gate = gate();
    let (mut passed, mut kept) = (0, Vec::new());
    let mut last = Then::Go;
    for byte in bytes {
        kept.push(*byte);
        let Passed { bytes, then } = told(gate.pass(&kept))?;
        passed += bytes;
        kept.drain(..bytes);
        last = then;
    }
    Ok(Passed { bytes: passed, then: last })
}

fn passes(message: &str) {
    let whole = Ok(Passed { bytes: message.len(), then: Then::Go });
    assert_eq!(all(message.as_bytes()), whole, "{message:?}");
    assert_eq!(trickled(message.as_bytes()), whole, "{message:?}, slowly");
    let twice = message.repeat(2);
    assert_eq!(
        all(twice.as_bytes()),
        Ok(Passed { bytes: twice.len(), then: Then::Go }),
        "{message:?}, twice"
    );
}

fn refused(message: &str, refusal: Refusal) {
    assert_eq!(all(message.as_bytes()), Err(refusal), "{message:?}");
    assert_eq!(trickled(message.as_bytes()), Err(refusal), "{message:?}, slowly");
    // Nor behind a good one.
    let behind = format!("GET / HTTP/1.1\r\nHost: a\r\n\r\n{message}");
    assert_eq!(all(behind.as_bytes()), Err(refusal), "{message:?}, behind a good one");
}

#[test]
fn what_is_well_formed_passes() {
    for message in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET http://a/x?y=z HTTP/1.1\r\nHost:a:80 \t\r\nX: \r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /\u{e9} HTTP/1.1\r\nHost: a\r\nX: \u{e9}\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n000A;x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0;x\r\nDigest: y\r\nZ: 1\r\n\r\n",
        // A body is never read as a head.
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\nGET / HTTP/1.1\n\n\n\n\n\n",
        // Another protocol that nobody is asked for.
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nUpgrade: x\r\n\r\n",
    ] {
        passes(message);
    }
}

/// The ways to have two programs see two requests, by the names that they are known by.
#[test]
fn what_could_be_smuggled_is_refused() {
    use Refusal::*;
    let post = |fields: &str, body: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n{body}");
    let chunked = |body: &str| post("Transfer-Encoding: chunked", body);
    let get = |fields: &str| format!("GET / HTTP/1.1\r\n{fields}\r\n\r\n");
    let cases = [
        ("CL.TE", post("Content-Length: 6\r\nTransfer-Encoding: chunked", "0\r\n\r\nG"), LengthAndChunks),
        (
            "TE.CL",
            post("Transfer-Encoding: chunked\r\nContent-Length: 3", "8\r\nSMUGGLED\r\n0\r\n\r\n"),
            LengthAndChunks,
        ),
        (
            "CL.TE with no body",
            post("Content-Length: 0\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
            LengthAndChunks,
        ),
        ("TE.TE", post("Transfer-Encoding: chunked\r\nTransfer-encoding: cow", "0\r\n\r\n"), BadCoding),
        (
            "TE.TE, the same twice",
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
            BadCoding,
        ),
        ("xchunked", post("Transfer-Encoding: xchunked", ""), BadCoding),
        ("a list", post("Transfer-Encoding: gzip, chunked", ""), BadCoding),
        ("chunked last but one", post("Transfer-Encoding: chunked, identity", ""), BadCoding),
        ("identity", post("Transfer-Encoding: identity", ""), BadCoding),
        ("nothing", post("Transfer-Encoding:", ""), BadCoding),
        ("quoted", post("Transfer-Encoding: \"chunked\"", ""), BadCoding),
        ("with a parameter", post("Transfer-Encoding: chunked;q=1", ""), BadCoding),
        ("a blank before the colon", post("Transfer-Encoding : chunked", ""), FieldName),
        ("a tab before the colon", post("Transfer-Encoding\t: chunked", ""), FieldName),
        ("a vertical tab", post("Transfer-Encoding:\x0bchunked", ""), Control),
        ("a form feed", post("Transfer-Encoding: chunked\x0c", ""), Control),
        ("NUL", post("Transfer-Encoding: chunked\0", ""), Control),
        ("NUL in a name", post("Transfer-Encoding\0: chunked", ""), FieldName),
        ("a no-break space", post("Transfer-Encoding: \u{a0}chunked", ""), BadCoding),
        ("an underscore", post("Transfer_Encoding: chunked", ""), Disguised),
        ("an underscore", post("Content_Length: 3", "abc"), Disguised),
        ("a blank before the name", post(" Transfer-Encoding: chunked", ""), Folded),
        ("folded", post("X: y\r\n Transfer-Encoding: chunked", ""), Folded),
        ("folded", post("Transfer-Encoding:\r\n chunked", ""), BadCoding),
        ("folded by a tab", post("X: y\r\n\tz", ""), Folded),
        ("a return in a value", post("X: y\rTransfer-Encoding: chunked", ""), BareReturn),
        ("two returns", post("X: y\r", ""), BareReturn),
        ("bare line feeds", "GET / HTTP/1.1\nHost: a\n\n".to_owned(), BareLineFeed),
        ("one bare line feed", "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n".to_owned(), BareLineFeed),
        ("a bare line feed at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n".to_owned(), BareLineFeed),
        ("a return at the end", "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n".to_owned(), FieldName),
        ("no colon", post("Transfer-Encoding chunked", ""), FieldName),
        ("no name", post(": chunked", ""), FieldName),
        ("two lengths", post("Content-Length: 3\r\nContent-Length: 4", "abcd"), TwoLengths),
        ("two equal lengths", post("Content-Length: 3\r\nContent-Length: 3", "abc"), TwoLengths),
        ("a list of lengths", post("Content-Length: 3, 3", "abc"), BadLength),
        ("a sign", post("Content-Length: +3", "abc"), BadLength),
        ("a negative length", post("Content-Length: -3", "abc"), BadLength),
        ("hex", post("Content-Length: 0x3", "abc"), BadLength),
        ("blanks within", post("Content-Length: 3 3", "abc"), BadLength),
        ("a fraction", post("Content-Length: 3.0", "abc"), BadLength),
        ("nothing", post("Content-Length:", ""), BadLength),
        ("too large to be true", post("Content-Length: 18446744073709551619", "abc"), BadLength),
        ("two hosts", get("Host: a\r\nHost: b"), TwoHosts),
        ("two equal hosts", get("Host: a\r\nhost: a"), TwoHosts),
        ("no host", get("X: y"), NoHost),
        ("an empty host", get("Host:"), BadHost),
        ("a user", get("Host: a@b"), BadHost),
        ("a path", get("Host: a/b"), BadHost),
        ("a list of hosts", get("Host: a, b"), BadHost),
        ("chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), BadCoding),
        ("HTTP/0.9", "GET /\r\n".to_owned(), RequestLine),
        ("HTTP/2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n".to_owned(), Version),
        ("HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n".to_owned(), Version),
        ("no version", "GET / HTTP\r\nHost: a\r\n\r\n".to_owned(), RequestLine),
        ("two blanks", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), RequestLine),
        ("a tab for a blank", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), RequestLine),
        ("a blank at the end", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n".to_owned(), RequestLine),
        ("a blank in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), RequestLine),
        ("a fragment", "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), RequestLine),
        ("a return in the target", "GET /\ra HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), BareReturn),
        ("no method", " / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), RequestLine),
        ("a method that is none", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), RequestLine),
        ("two empty lines", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), RequestLine),
        ("TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\n".to_owned(), BareLineFeed),
        ("a chunk's size with a sign", chunked("+5\r\nhello\r\n0\r\n\r\n"), ChunkSize),
        ("with 0x", chunked("0x5\r\nhello\r\n0\r\n\r\n"), ChunkSize),
        ("with a blank before it", chunked(" 5\r\nhello\r\n0\r\n\r\n"), ChunkSize),
        ("with a blank after it", chunked("5 \r\nhello\r\n0\r\n\r\n"), ChunkSize),
        ("with an underscore", chunked("1_0\r\n"), ChunkSize),
        ("empty", chunked("\r\nhello\r\n0\r\n\r\n"), ChunkSize),
        ("too large to be true", chunked("10000000000000005\r\nhello\r\n"), ChunkSize),
        ("ended by a line feed alone", chunked("5\nhello\r\n0\r\n\r\n"), ChunkSize),
        ("ended by a return alone", chunked("5\rhello\r\n0\r\n\r\n"), ChunkSize),
        ("an extension with a line feed", chunked("5;a\nhello\r\n0\r\n\r\n"), ChunkExtension),
        ("an extension that never ends", chunked(&format!("5;{}", "x".repeat(300))), ChunkExtension),
        ("a chunk that is longer", chunked("5\r\nhello!\r\n0\r\n\r\n"), ChunkEnd),
        ("a chunk that is shorter", chunked("6\r\nhello\r\n0\r\n\r\n"), ChunkEnd),
        ("a chunk ended by a line feed", chunked("5\r\nhello\n0\r\n\r\n"), ChunkEnd),
        ("a trailer that frames", chunked("0\r\nContent-Length: 3\r\n\r\n"), Trailer),
        ("a trailer that routes", chunked("0\r\nHost: b\r\n\r\n"), Trailer),
        ("a trailer that lets in", chunked("0\r\nAuthorization: b\r\n\r\n"), Trailer),
        ("a trailer that is none", chunked("0\r\nGET / HTTP/1.1\r\n\r\n"), Trailer),
        ("a trailer over two lines", chunked("0\r\nX: y\r\n z\r\n\r\n"), Trailer),
        ("a trailer ended by a line feed", chunked("0\r\nX: y\n\r\n"), BareLineFeed),
    ];
    for (name, message, refusal) in cases {
        println!("{name}");
        refused(&message, refusal);
    }
}

#[test]
fn what_is_too_large_is_refused_before_it_is_whole() {
    let sizes = Sizes { head: 200, target: 50, fields: 3 };
    let refused = |bytes: &str, refusal| {
        assert_eq!(told(Gate::new(sizes).pass(bytes.as_bytes())), Err(refusal), "{bytes}")
    };
    refused(&format!("GET /{} HTTP/1.1\r\n", "x".repeat(50)), Refusal::TargetTooLong);
    refused(&format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(200)), Refusal::HeadTooLarge);
    refused("GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 1\r\nC: 1\r\n", Refusal::TooManyFields);
    let trailers = format!(
        "{}0\r\nX: {}",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "x".repeat(200)
    );
    refused(&trailers, Refusal::HeadTooLarge);
    let fits = "GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 1\r\n\r\n";
    assert_eq!(Gate::new(sizes).pass(fits.as_bytes()).then, Then::Go);
}

#[test]
fn nothing_passes_until_it_is_decided_what_is_spoken() {
    let ask = "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let bytes = [ask.as_bytes(), b"\x81\x05hello"].concat();
    let waits = Passed { bytes: ask.len(), then: Then::Undecided };
    let mut granted = gate();
    assert_eq!(granted.pass(&bytes), waits);
    let rest = &bytes[ask.len()..];
    assert_eq!(granted.pass(rest), Passed { bytes: 0, then: Then::Undecided });
    granted.decide(Upgrade::Granted);
    assert_eq!(granted.pass(rest), Passed { bytes: rest.len(), then: Then::Go });

    let mut not = gate();
    assert_eq!(not.pass(ask.as_bytes()), waits);
    not.decide(Upgrade::Refused);
    assert_eq!(not.pass(b"\x81\x05hello\n").then, Then::Refused(Refusal::BareLineFeed));
    let mut not = gate();
    assert_eq!(not.pass(&bytes), waits);
    not.decide(Upgrade::Refused);
    assert_eq!(not.pass(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").then, Then::Go);
}

#[test]
fn what_comes_before_the_refused_passes() {
    let good = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    let mut gate = gate();
    let bytes = format!("{good}GET / HTTP/1.1\n\n");
    let refused = Passed { bytes: good.len(), then: Then::Refused(Refusal::BareLineFeed) };
    assert_eq!(gate.pass(bytes.as_bytes()), refused);
    assert!(gate.is_between());
    let mut gate = Gate::new(Sizes::default());
    gate.pass(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert_eq!(gate.pass(b"x").then, Then::Refused(Refusal::ChunkSize));
    assert!(!gate.is_between());
}

#[test]
fn a_part_of_a_head_waits_for_the_rest() {
    let (first, rest) = ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /");
    let bytes = format!("{first}{rest}");
    assert_eq!(all(bytes.as_bytes()), Ok(Passed { bytes: first.len(), then: Then::More }));
}

#[test]
fn every_refusal_says_something_of_its_own() {
    for (at, refusal) in Refusal::ALL.into_iter().enumerate() {
        assert_eq!(refusal as usize, at);
        let others = Refusal::ALL.iter().filter(|other| other.to_string() == refusal.to_string());
        assert_eq!(others.count(), 1, "{refusal}");
        assert!(refusal.status().is_client_error() || refusal == Refusal::Version);
    }
}

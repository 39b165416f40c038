//! The fields of a head, as they go on to the other side: what belongs to one connection stays behind, and what says where
//! a request came from is ours to say.
//!
//! A client's own word on that is dropped, in every spelling that a server might take for it.

use std::fmt::Write;

use http::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, FORWARDED, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Version};

use crate::conn::Conn;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What a request's head says to the target beside its own fields.
#[derive(Debug)]
pub(crate) struct Said<'r> {
    pub(crate) conn: &'r Conn,
    /// The host as the client wrote it, with its port.
    pub(crate) authority: &'r HeaderValue,
    pub(crate) id: &'r HeaderValue,
    /// What else is asked to be spoken.
    pub(crate) upgrade: Option<&'r HeaderValue>,
}

/// The fields for the target.
pub(crate) fn for_target(fields: &HeaderMap, version: Version, said: &Said<'_>) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(fields.len() + 8);
    let nominated = Nominated::of(fields);
    out.insert(HOST, said.authority.clone());
    for (name, value) in fields {
        if !is_for_one_connection(name) && !is_ours_to_say(name) && !nominated.has(name) {
            out.append(name.clone(), value.clone());
        }
    }
    if version == Version::HTTP_2 {
        join_cookies(&mut out);
    }
    // RFC 9110, 10.1.4: the one thing that may be asked for by it.
    if fields.get_all(TE).iter().any(|value| value.as_bytes().eq_ignore_ascii_case(b"trailers")) {
        out.insert(TE, HeaderValue::from_static("trailers"));
    }
    if let Some(upgrade) = said.upgrade {
        out.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        out.insert(UPGRADE, upgrade.clone());
    }
    out.insert(FORWARDED, forwarded(said));
    out.insert(X_FORWARDED_FOR, said.conn.peer_text.clone());
    out.insert(X_FORWARDED_HOST, said.authority.clone());
    out.insert(X_FORWARDED_PROTO, HeaderValue::from_static(said.conn.scheme()));
    out.insert(X_REAL_IP, said.conn.peer_text.clone());
    out.insert(X_REQUEST_ID, said.id.clone());
    out
}

/// Takes out of an answer's fields what is between the target and us.
pub(crate) fn for_client(fields: &mut HeaderMap) {
    let nominated = Nominated::of(fields);
    for name in nominated.0 {
        fields.remove(name);
    }
    for name in [CONNECTION, KEEP_ALIVE, PROXY_CONNECTION, TE, TRANSFER_ENCODING, UPGRADE] {
        fields.remove(name);
    }
}

/// RFC 7239.
fn forwarded(said: &Said<'_>) -> HeaderValue {
    let mut text = String::with_capacity(96);
    let ip = said.conn.peer.ip();
    let written = match ip.is_ipv4() {
        true => write!(text, "for={ip}"),
        false => write!(text, "for=\"[{ip}]\""),
    };
    written.expect("a text can be written to");
    // It was read as an authority, so there is nothing in it that a quoted string could not hold.
    let authority = said.authority.to_str().unwrap_or_default();
    write!(text, ";host=\"{authority}\";proto={}", said.conn.scheme()).expect("as above");
    HeaderValue::from_str(&text).expect("it is visible text")
}

/// RFC 9113, 8.2.3: HTTP/2 may take a cookie apart, HTTP/1 may not.
fn join_cookies(fields: &mut HeaderMap) {
    if fields.get_all(COOKIE).iter().nth(1).is_none() {
        return;
    }
    let parts: Vec<&[u8]> = fields.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(joined) = HeaderValue::from_bytes(&parts.join(&b"; "[..])) {
        fields.insert(COOKIE, joined);
    }
}

fn is_for_one_connection(name: &HeaderName) -> bool {
    [
        &CONNECTION,
        &TRANSFER_ENCODING,
        &UPGRADE,
        &TE,
        &EXPECT,
        &PROXY_AUTHENTICATE,
        &PROXY_AUTHORIZATION,
        &HOST,
    ]
    .contains(&name)
        || [&KEEP_ALIVE, &PROXY_CONNECTION, &HTTP2_SETTINGS].contains(&name)
}

/// What is ours to say, and what a server that turns `-` into `_` would take for it.
fn is_ours_to_say(name: &HeaderName) -> bool {
    let text = name.as_str();
    let first = text.as_bytes()[0];
    if !matches!(first, b'x' | b'f') && !text.contains('_') {
        return false;
    }
    let is_ours = |text: &str| {
        text == "forwarded"
            || text.strip_prefix("x-").is_some_and(|rest| {
                rest.starts_with("forwarded-") || matches!(rest, "forwarded" | "real-ip" | "request-id")
            })
    };
    match text.contains('_') {
        true => {
            let dashed = text.replace('_', "-");
            // Nor what frames or what belongs to one connection, in disguise.
            is_ours(&dashed) || dashed.parse().is_ok_and(|name| is_for_one_connection(&name))
        }
        false => is_ours(text),
    }
}

/// The fields that `Connection` names: they belong to that connection too.
struct Nominated(Vec<HeaderName>);

impl Nominated {
    fn of(fields: &HeaderMap) -> Self {
        let tokens =
            fields.get_all(CONNECTION).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        let names = tokens.map(<[u8]>::trim_ascii).filter(|token| {
            !["close", "keep-alive", "upgrade", ""]
                .iter()
                .any(|known| token.eq_ignore_ascii_case(known.as_bytes()))
        });
        // What frames the message is nobody's to take away.
        Self(
            names
                .filter_map(|name| HeaderName::from_bytes(name).ok())
                .filter(|name| *name != CONTENT_LENGTH)
                .collect(),
        )
    }

    fn has(&self, name: &HeaderName) -> bool {
        self.0.contains(name)
    }
}

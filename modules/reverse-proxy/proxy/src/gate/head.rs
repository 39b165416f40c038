//! The rules for a head: what it may look like, and where its body ends.
//!
//! Stricter than RFC 9112, which lets a recipient repair much: everything that it allows to be repaired is refused.

use memchr::memchr;

use super::{Refusal, Sizes};
use mesh_routes::Authority;

/// Where the body of a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    None,
    /// After that many bytes, more than none.
    Length(u64),
    /// After the last chunk.
    Chunked,
    /// There is none, and it is asked to go on in another protocol.
    Upgrade,
}

/// Reads a head from the first byte: its length and its framing, or nothing where it has not ended yet.
///
/// # Errors
/// Where it breaks a rule, as soon as that shows.
pub fn read(bytes: &[u8], sizes: &Sizes) -> Result<Option<(usize, Framing)>, Refusal> {
    let mut lines = Lines { bytes, at: 0 };
    // RFC 9112, 2.2: one empty line before a request is passed over, since old clients send one.
    if bytes.starts_with(b"\r\n") {
        lines.at = 2;
    }
    let Some(line) = lines.next(sizes)? else { return unfinished(&lines, sizes) };
    let version = request_line(line, sizes)?;
    let mut fields = Fields::default();
    let mut count = 0;
    loop {
        let Some(line) = lines.next(sizes)? else { return unfinished(&lines, sizes) };
        if line.is_empty() {
            return Ok(Some((lines.at, fields.framing(version)?)));
        }
        count += 1;
        if count > sizes.fields {
            return Err(Refusal::TooManyFields);
        }
        let (name, value) = field(line)?;
        fields.take(name, value)?;
    }
}

/// What has come of a line that has not ended is looked at too: nobody waits for the end of what is refused anyway.
fn unfinished(lines: &Lines<'_>, sizes: &Sizes) -> Result<Option<(usize, Framing)>, Refusal> {
    if lines.bytes.len() > sizes.head { Err(Refusal::HeadTooLarge) } else { Ok(None) }
}

/// The lines of a head, as far as they have come.
struct Lines<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Lines<'b> {
    /// The next line that has ended, without its end.
    fn next(&mut self, sizes: &Sizes) -> Result<Option<&'b [u8]>, Refusal> {
        let rest = &self.bytes[self.at..];
        let Some(end) = memchr(b'\n', rest) else { return Ok(None) };
        self.at += end + 1;
        if self.at > sizes.head {
            return Err(Refusal::HeadTooLarge);
        }
        rest[..end].strip_suffix(b"\r").map(Some).ok_or(Refusal::BareLineFeed)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Http10,
    Http11,
}

fn request_line(line: &[u8], sizes: &Sizes) -> Result<Version, Refusal> {
    let mut parts = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(refused_text(line).unwrap_or(Refusal::RequestLine));
    };
    if method.is_empty() || method.len() > 32 || !method.iter().copied().all(is_token) {
        return Err(Refusal::RequestLine);
    }
    if target.len() > sizes.target {
        return Err(Refusal::TargetTooLong);
    }
    if let Some(refusal) = refused_text(target) {
        return Err(refusal);
    }
    // A fragment is never sent; whoever reads it as the target's end sees another target.
    if target.is_empty() || target.contains(&b'#') || target.contains(&b'\t') {
        return Err(Refusal::RequestLine);
    }
    match version {
        b"HTTP/1.1" => Ok(Version::Http11),
        b"HTTP/1.0" => Ok(Version::Http10),
        _ if version.len() == 8 && version.starts_with(b"HTTP/") => Err(Refusal::Version),
        _ => Err(Refusal::RequestLine),
    }
}

/// A field's name and its value without the blanks around it.
pub(super) fn field(line: &[u8]) -> Result<(&[u8], &[u8]), Refusal> {
    if matches!(line.first(), Some(b' ' | b'\t')) {
        return Err(Refusal::Folded);
    }
    let colon = memchr(b':', line).ok_or(Refusal::FieldName)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    if name.is_empty() || !name.iter().copied().all(is_token) {
        return Err(Refusal::FieldName);
    }
    match refused_text(value) {
        Some(refusal) => Err(refusal),
        None => Ok((name, trimmed(value))),
    }
}

fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// What is wrong with a text that may have visible characters, blanks and bytes beyond ASCII.
fn refused_text(text: &[u8]) -> Option<Refusal> {
    let wrong = text.iter().copied().find(|byte| matches!(byte, 0..=8 | 10..=31 | 127))?;
    Some(if wrong == b'\r' { Refusal::BareReturn } else { Refusal::Control })
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

static TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let plain = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut at = 0;
    while at < plain.len() {
        table[plain[at] as usize] = true;
        at += 1;
    }
    table
};

/// What the fields of a head say of its framing.
#[derive(Debug, Default)]
struct Fields<'b> {
    hosts: usize,
    length: Option<u64>,
    coded: Coded,
    upgrade: Option<&'b [u8]>,
    connection_upgrade: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Coded {
    #[default]
    No,
    Chunked,
}

impl<'b> Fields<'b> {
    fn take(&mut self, name: &'b [u8], value: &'b [u8]) -> Result<(), Refusal> {
        // By length first: most fields are none of these.
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.host(value),
            7 if name.eq_ignore_ascii_case(b"upgrade") => {
                // A second line adds to the first; it is one wish in two lines, and not granted.
                self.upgrade = Some(if self.upgrade.is_some() { b"" } else { value });
                Ok(())
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.connection_upgrade |= names_upgrade(value);
                Ok(())
            }
            14 if is_like(name, b"content-length") => self.content_length(name, value),
            17 if is_like(name, b"transfer-encoding") => self.transfer_encoding(name, value),
            _ => Ok(()),
        }
    }

    fn host(&mut self, value: &[u8]) -> Result<(), Refusal> {
        self.hosts += 1;
        if self.hosts > 1 {
            return Err(Refusal::TwoHosts);
        }
        let text = std::str::from_utf8(value).map_err(|_| Refusal::BadHost)?;
        Authority::parse(text).map(drop).map_err(|_| Refusal::BadHost)
    }

    fn content_length(&mut self, name: &[u8], value: &[u8]) -> Result<(), Refusal> {
        if !name.contains(&b'-') {
            return Err(Refusal::Disguised);
        }
        if self.length.is_some() {
            return Err(Refusal::TwoLengths);
        }
        // 18 digits are more than anybody sends, and cannot overflow.
        if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
            return Err(Refusal::BadLength);
        }
        let length = value.iter().fold(0, |length, digit| length * 10 + u64::from(digit - b'0'));
        self.length = Some(length);
        Ok(())
    }

    fn transfer_encoding(&mut self, name: &[u8], value: &[u8]) -> Result<(), Refusal> {
        if !name.contains(&b'-') {
            return Err(Refusal::Disguised);
        }
        if self.coded == Coded::Chunked || !value.eq_ignore_ascii_case(b"chunked") {
            return Err(Refusal::BadCoding);
        }
        self.coded = Coded::Chunked;
        Ok(())
    }

    fn framing(&self, version: Version) -> Result<Framing, Refusal> {
        if self.hosts == 0 && version == Version::Http11 {
            return Err(Refusal::NoHost);
        }
        match (&self.coded, self.length) {
            (Coded::Chunked, _) if version == Version::Http10 => Err(Refusal::BadCoding),
            (Coded::Chunked, Some(_)) => Err(Refusal::LengthAndChunks),
            (Coded::Chunked, None) => Ok(Framing::Chunked),
            (Coded::No, Some(length)) if length > 0 => Ok(Framing::Length(length)),
            (Coded::No, _) if version == Version::Http11 && self.asks_for_upgrade() => Ok(Framing::Upgrade),
            (Coded::No, _) => Ok(Framing::None),
        }
    }

    fn asks_for_upgrade(&self) -> bool {
        self.connection_upgrade && self.upgrade.is_some_and(is_granted)
    }
}

/// Whether `Connection` says that `Upgrade` is meant.
#[must_use]
pub fn names_upgrade(value: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|token| trimmed(token).eq_ignore_ascii_case(b"upgrade"))
}

/// Whether a target may be asked for what stands in `Upgrade`: one protocol, and not HTTP/2, by which requests would pass
/// that nobody here looks at.
#[must_use]
pub fn is_granted(value: &[u8]) -> bool {
    let name = value.split(|byte| *byte == b'/').next().unwrap_or_default();
    !value.is_empty()
        && !value.contains(&b',')
        && name.iter().copied().all(is_token)
        && ![&b"h2c"[..], b"h2", b"http", b"tls"].iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Equal, whatever the case, and where `_` counts as `-`.
fn is_like(name: &[u8], known: &[u8]) -> bool {
    name.len() == known.len()
        && name.iter().zip(known).all(|(a, b)| a.eq_ignore_ascii_case(b) || (*a == b'_' && *b == b'-'))
}

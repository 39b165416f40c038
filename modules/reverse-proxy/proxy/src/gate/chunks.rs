//! The rules for a chunked body: RFC 9112, 7.1, without what it lets a recipient forgive.
//!
//! Followed byte by byte, since a size may arrive in two pieces, except for the data, which is skipped over.

use super::head::field;
use super::{Refusal, Sizes};

/// The longest extensions of one chunk, in bytes. Nobody uses them; they are let through for whoever does.
const LONGEST_EXTENSION: u16 = 256;

/// Follows one chunked body.
#[derive(Debug)]
pub struct Chunks {
    state: State,
    size: u64,
    trailers: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// How many digits of a size there were.
    Size(u8),
    /// How many bytes of extensions there were.
    Extension(u16),
    SizeLineFeed,
    Data,
    DataReturn,
    DataLineFeed,
    Trailers,
    Done,
}

impl Chunks {
    /// Before the first byte.
    #[must_use]
    pub fn new() -> Self {
        Self { state: State::Size(0), size: 0, trailers: Vec::new() }
    }

    /// Whether the last byte was seen.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Looks at the bytes that come next, and returns how many of them belong to the body.
    ///
    /// # Errors
    /// Where they break a rule.
    pub fn pass(&mut self, bytes: &[u8], sizes: &Sizes) -> Result<usize, Refusal> {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Done {
            if self.state == State::Data {
                let now = usize::try_from(self.size).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += now;
                self.size -= now as u64;
                if self.size == 0 {
                    self.state = State::DataReturn;
                }
                continue;
            }
            self.state = self.step(bytes[at], sizes)?;
            at += 1;
        }
        Ok(at)
    }

    fn step(&mut self, byte: u8, sizes: &Sizes) -> Result<State, Refusal> {
        match (self.state, byte) {
            (State::Size(digits @ 0..15), byte) if byte.is_ascii_hexdigit() => {
                let digit = char::from(byte).to_digit(16).expect("it is a digit of that base");
                self.size = self.size << 4 | u64::from(digit);
                Ok(State::Size(digits + 1))
            }
            (State::Size(1..), b'\r') => Ok(State::SizeLineFeed),
            (State::Size(1..), b';') => Ok(State::Extension(0)),
            (State::Size(_), _) => Err(Refusal::ChunkSize),
            (State::Extension(_), b'\r') => Ok(State::SizeLineFeed),
            (State::Extension(_), 0..=8 | 10..=31 | 127) => Err(Refusal::ChunkExtension),
            (State::Extension(LONGEST_EXTENSION..), _) => Err(Refusal::ChunkExtension),
            (State::Extension(length), _) => Ok(State::Extension(length + 1)),
            (State::SizeLineFeed, b'\n') if self.size == 0 => Ok(State::Trailers),
            (State::SizeLineFeed, b'\n') => Ok(State::Data),
            (State::SizeLineFeed, _) => Err(Refusal::ChunkSize),
            (State::DataReturn, b'\r') => Ok(State::DataLineFeed),
            (State::DataLineFeed, b'\n') => Ok(State::Size(0)),
            (State::DataReturn | State::DataLineFeed, _) => Err(Refusal::ChunkEnd),
            (State::Trailers, byte) => self.trailer(byte, sizes),
            (State::Data | State::Done, _) => unreachable!("these take no single bytes"),
        }
    }

    /// Trailers are looked at a line at a time.
    fn trailer(&mut self, byte: u8, sizes: &Sizes) -> Result<State, Refusal> {
        self.trailers.push(byte);
        if self.trailers.len() > sizes.head {
            return Err(Refusal::HeadTooLarge);
        }
        if byte != b'\n' {
            return Ok(State::Trailers);
        }
        let before = &self.trailers[..self.trailers.len() - 1];
        let begin = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        let line = before[begin..].strip_suffix(b"\r").ok_or(Refusal::BareLineFeed)?;
        if line.is_empty() {
            return Ok(State::Done);
        }
        let (name, _) = field(line).map_err(|_| Refusal::Trailer)?;
        if FORBIDDEN.iter().any(|forbidden| name.eq_ignore_ascii_case(forbidden)) {
            return Err(Refusal::Trailer);
        }
        Ok(State::Trailers)
    }
}

impl Default for Chunks {
    fn default() -> Self {
        Self::new()
    }
}

/// What frames, routes or lets in has to stand in the head: RFC 9110, 6.5.1.
const FORBIDDEN: [&[u8]; 13] = [
    b"authorization",
    b"connection",
    b"content-encoding",
    b"content-length",
    b"content-range",
    b"content-type",
    b"cookie",
    b"expect",
    b"host",
    b"proxy-authorization",
    b"te",
    b"trailer",
    b"transfer-encoding",
];

//! What an HTTP/1 client sends, let through only where it can be read in one way.
//!
//! A request that two programs delimit differently is a request smuggled past one of them. hyper reads correctly but
//! leniently: it takes a bare line feed for a line's end, merges two lengths that are equal, and where there are a length and
//! chunks it drops the length. So this stands in front of it and follows the same bytes: each head is looked at whole
//! before any of it is let through, and what is ambiguous is refused with a [`Refusal`] that says why.
//!
//! Pure: bytes in, how many of them may pass out. Start at [`Gate::pass`]; [`head`] has the rules for heads and
//! [`chunks`] those for chunked bodies. [`crate::guard`] puts it on a connection.

pub mod chunks;
pub mod head;

use std::fmt;

use http::StatusCode;

use self::chunks::Chunks;
use self::head::Framing;

/// How large what a client sends may be.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// A head, in bytes.
    pub head: usize,
    /// A request's target, in bytes.
    pub target: usize,
    /// Fields of a head.
    pub fields: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { head: 16 << 10, target: 8 << 10, fields: 100 }
    }
}

/// Follows what one client sends.
#[derive(Debug)]
pub struct Gate {
    sizes: Sizes,
    state: State,
}

#[derive(Debug)]
enum State {
    /// A head comes next, or a part of it has come.
    Head,
    /// That much of a body is to come.
    Body(u64),
    Chunks(Chunks),
    /// Asked to speak something else from here on; nothing passes before that is decided.
    Undecided,
    /// It speaks something else.
    Other,
}

/// What became of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// How many of them, from the first, may be read.
    pub bytes: usize,
    /// What the rest of them waits for.
    pub then: Then,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Nothing waits.
    Go,
    /// The rest is part of a head, and has to be shown again with what comes after it.
    More,
    /// The rest may be anything: whether the protocol changes has to be decided first, by [`Gate::decide`].
    Undecided,
    /// The rest cannot be read in one way, nor can anything that comes after it.
    Refused(Refusal),
}

/// What the other side's wish to speak another protocol came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upgrade {
    /// From here on it is not HTTP.
    Granted,
    /// It goes on with HTTP.
    Refused,
}

impl Gate {
    /// Before the first byte.
    #[must_use]
    pub fn new(sizes: Sizes) -> Self {
        Self { sizes, state: State::Head }
    }

    /// Looks at the bytes that come next. What a call left over has to come first in the next.
    pub fn pass(&mut self, bytes: &[u8]) -> Passed {
        let mut at = 0;
        let then = loop {
            let rest = &bytes[at..];
            if rest.is_empty() && !matches!(self.state, State::Undecided) {
                break Then::Go;
            }
            match &mut self.state {
                State::Head => match head::read(rest, &self.sizes) {
                    Ok(Some((length, framing))) => {
                        at += length;
                        self.state = after(framing);
                    }
                    Ok(None) => break Then::More,
                    Err(refusal) => break Then::Refused(refusal),
                },
                State::Body(left) => {
                    let now = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    at += now;
                    *left -= now as u64;
                    if *left == 0 {
                        self.state = State::Head;
                    }
                }
                State::Chunks(chunks) => match chunks.pass(rest, &self.sizes) {
                    Ok(now) => {
                        at += now;
                        if chunks.is_done() {
                            self.state = State::Head;
                        }
                    }
                    Err(refusal) => break Then::Refused(refusal),
                },
                State::Undecided => break Then::Undecided,
                State::Other => at = bytes.len(),
            }
        };
        Passed { bytes: at, then }
    }

    /// Takes note of what was decided, where something was to be.
    pub fn decide(&mut self, upgrade: Upgrade) {
        if matches!(self.state, State::Undecided) {
            self.state = match upgrade {
                Upgrade::Granted => State::Other,
                Upgrade::Refused => State::Head,
            };
        }
    }

    /// Whether what was let through so far ends with a message.
    #[must_use]
    pub fn is_between(&self) -> bool {
        matches!(self.state, State::Head)
    }
}

fn after(framing: Framing) -> State {
    match framing {
        Framing::None => State::Head,
        Framing::Length(length) => State::Body(length),
        Framing::Chunked => State::Chunks(Chunks::new()),
        Framing::Upgrade => State::Undecided,
    }
}

/// Why a request is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Refusal {
    /// The first line is not `METHOD TARGET HTTP/1.1`.
    RequestLine,
    /// Another version than HTTP/1.0 and 1.1.
    Version,
    /// A line that ends with a line feed alone.
    BareLineFeed,
    /// A carriage return within a line.
    BareReturn,
    /// A control character, or NUL.
    Control,
    /// A line that begins with a blank: a field over two lines.
    Folded,
    /// A field's name that is empty or has a blank or another character that no name has.
    FieldName,
    /// No `Host`.
    NoHost,
    /// More than one.
    TwoHosts,
    /// Not a host and perhaps a port.
    BadHost,
    /// More than one `Content-Length`, even where they agree.
    TwoLengths,
    /// Not a plain number.
    BadLength,
    /// `Content-Length` and `Transfer-Encoding`.
    LengthAndChunks,
    /// A `Transfer-Encoding` other than `chunked`, once, in HTTP/1.1.
    BadCoding,
    /// `Content_Length` and its like, which some servers take for the field with a dash.
    Disguised,
    /// Not `SIZE` and perhaps extensions.
    ChunkSize,
    /// More than any chunk needs.
    ChunkExtension,
    /// A chunk that does not end where its size says.
    ChunkEnd,
    /// A trailer that is no field, or one that only a head may have.
    Trailer,
    /// Too many bytes.
    HeadTooLarge,
    /// Too many fields.
    TooManyFields,
    /// Too long a target.
    TargetTooLong,
    /// A head that took too long.
    HeadTooSlow,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::RequestLine,
        Self::Version,
        Self::BareLineFeed,
        Self::BareReturn,
        Self::Control,
        Self::Folded,
        Self::FieldName,
        Self::NoHost,
        Self::TwoHosts,
        Self::BadHost,
        Self::TwoLengths,
        Self::BadLength,
        Self::LengthAndChunks,
        Self::BadCoding,
        Self::Disguised,
        Self::ChunkSize,
        Self::ChunkExtension,
        Self::ChunkEnd,
        Self::Trailer,
        Self::HeadTooLarge,
        Self::TooManyFields,
        Self::TargetTooLong,
        Self::HeadTooSlow,
    ];

    /// The status that a client is told.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::Version => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::HeadTooLarge | Self::TooManyFields => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::HeadTooSlow => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::RequestLine => {
                "its first line is not a method, a target and a version with one blank between them"
            }
            Self::Version => "it is neither HTTP/1.0 nor HTTP/1.1",
            Self::BareLineFeed => "a line ends with a line feed alone",
            Self::BareReturn => "a carriage return stands within a line",
            Self::Control => "it has a control character",
            Self::Folded => "a field goes on in a second line",
            Self::FieldName => "the name of a field has a character that no name has, or a blank after it",
            Self::NoHost => "it has no Host",
            Self::TwoHosts => "it has more than one Host",
            Self::BadHost => "its Host is not a host and perhaps a port",
            Self::TwoLengths => "it has more than one Content-Length",
            Self::BadLength => "its Content-Length is not a plain number",
            Self::LengthAndChunks => "it has both a Content-Length and a Transfer-Encoding",
            Self::BadCoding => "its Transfer-Encoding is not `chunked`, once, in HTTP/1.1",
            Self::Disguised => "it has a field that some take for Content-Length or Transfer-Encoding",
            Self::ChunkSize => "the size of a chunk is not a plain number",
            Self::ChunkExtension => "the extensions of a chunk are too long, or have a control character",
            Self::ChunkEnd => "a chunk does not end where its size says",
            Self::Trailer => "a trailer is no field, or one that has to stand in the head",
            Self::HeadTooLarge => "its head is larger than it may be",
            Self::TooManyFields => "it has more fields than it may have",
            Self::TargetTooLong => "its target is longer than it may be",
            Self::HeadTooSlow => "its head did not arrive in time",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests;

//! From a byte of a text to the byte of the file that it came from.
//!
//! YAML takes indentation away, folds lines and reads escapes, so the two differ. But it never adds, drops or moves a
//! character that is no white space: the n-th one of the text is the n-th one of what was written.

use std::ops::Range;

use super::Style;
use crate::span::Span;

/// Goes through a text and what was written for it side by side, forward only.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    written: &'a str,
    base: usize,
    style: Style,
    text: &'a str,
    /// Whether the two are the same, so that there is nothing to go through.
    same: bool,
    /// How far each has been gone through.
    at: usize,
    from: usize,
}

impl<'a> Places<'a> {
    /// For a text that was written at `span` of `file`.
    pub(crate) fn new(file: &'a str, span: Span, style: Style, text: &'a str) -> Self {
        let written = &file[span.range()];
        let quote = usize::from(matches!(style, Style::Single | Style::Double));
        let quote = quote.min(written.len());
        let written = &written[quote..];
        let same = style != Style::Block && written.get(..text.len()) == Some(text);
        Self { written, base: span.start() + quote, style, text, same, at: 0, from: 0 }
    }

    /// Where a range of the text stands in the file. Ranges are asked for in order of where they begin, each beginning and
    /// ending at something else than white space.
    pub(crate) fn range(&mut self, range: &Range<usize>) -> Span {
        if self.same {
            return Span::new(self.base + range.start, self.base + range.end);
        }
        self.go_to(range.start);
        let start = self.base + self.at + self.white();
        let mut behind = *self;
        behind.go_to(range.end);
        Span::new(start, (self.base + behind.at).max(start))
    }

    /// Goes to a byte of the text.
    fn go_to(&mut self, byte: usize) {
        let (text, written) = (self.text.as_bytes(), self.written.as_bytes());
        while self.from < byte {
            match (text.get(self.from), written.get(self.at)) {
                // As nearly always: the same on both sides, and nothing that could stand for something else.
                (Some(one), Some(other)) if one == other && is_itself(*one) => {
                    self.at += 1;
                    self.from += 1;
                }
                (Some(_), _) => self.step(),
                (None, _) => return,
            }
        }
    }

    /// Goes behind the next character of the text.
    fn step(&mut self) {
        let next = self.text[self.from..].chars().next().expect("it was asked for");
        self.from += next.len_utf8();
        if !next.is_whitespace() {
            self.at += self.skip();
        }
    }

    /// The bytes of white space that come next.
    fn white(&self) -> usize {
        let rest = &self.written[self.at..];
        let mut at = 0;
        loop {
            let more = &rest[at..];
            let trimmed = more.trim_start();
            at += more.len() - trimmed.len();
            match self.style {
                Style::Double => match white_escape(trimmed) {
                    0 => return at,
                    escape => at += escape,
                },
                _ => return at,
            }
        }
    }

    /// The length of what was written for the next character that is no white space, with the white space before it.
    fn skip(&self) -> usize {
        let rest = &self.written[self.at..];
        let lead = self.white();
        let one = match self.style {
            Style::Double if rest[lead..].starts_with('\\') => escape(&rest[lead..]),
            Style::Single if rest[lead..].starts_with("''") => 2,
            _ => rest[lead..].chars().next().map_or(0, char::len_utf8),
        };
        lead + one
    }
}

/// Whether a byte that is on both sides is the same on both.
fn is_itself(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'\'')
}

/// The length of an escape in double quotes.
fn escape(rest: &str) -> usize {
    let length = match rest.as_bytes().get(1) {
        Some(b'x') => 4,
        Some(b'u') => 6,
        Some(b'U') => 10,
        Some(_) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        None => 1,
    };
    if rest.is_char_boundary(length) { length.min(rest.len()) } else { rest.len() }
}

/// The length of an escape that stands for white space; 0 where the next is none.
fn white_escape(rest: &str) -> usize {
    let mut characters = rest.chars();
    match (characters.next(), characters.next()) {
        (Some('\\'), Some('n' | 't' | 'r' | ' ' | '\t' | '\n' | 'v' | 'f' | '_' | 'N' | 'L' | 'P')) => 2,
        (Some('\\'), Some('\r')) => 2,
        _ => 0,
    }
}

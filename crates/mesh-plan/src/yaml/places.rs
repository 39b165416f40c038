//! From a byte of a text to the byte of the file that it came from.
//!
//! YAML takes indentation away, folds lines and reads escapes, so the two differ. But it never adds, drops or moves a
//! character that is no white space: the n-th one of the text is the n-th one of what was written.

use std::ops::Range;

use super::Style;

/// Goes through a text and what was written for it side by side, forward only.
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
    pub(crate) fn new(file: &'a str, span: &Range<usize>, style: Style, text: &'a str) -> Self {
        let (written, base) = match style {
            Style::Single | Style::Double => (&file[span.clone()], span.start),
            Style::Plain | Style::Block => (&file[span.clone()], span.start),
        };
        let quote = usize::from(matches!(style, Style::Single | Style::Double));
        let quote = quote.min(written.len());
        let written = &written[quote..];
        let same = style != Style::Block && written.get(..text.len()) == Some(text);
        Self { written, base: base + quote, style, text, same, at: 0, from: 0 }
    }

    /// Where a range of the text stands in the file. Ranges are asked for in order, each beginning and ending at
    /// something else than white space.
    pub(crate) fn range(&mut self, range: &Range<usize>) -> Range<usize> {
        if self.same {
            return self.base + range.start..self.base + range.end;
        }
        let start = self.byte(range.start);
        let end = self.last(range.end);
        start..end.max(start)
    }

    /// Where the character at a byte of the text stands.
    fn byte(&mut self, byte: usize) -> usize {
        let ahead = self.text.get(self.from..byte).unwrap_or_default();
        for _ in ahead.chars().filter(|c| !c.is_whitespace()) {
            self.at += self.skip().len();
        }
        self.from = self.from.max(byte);
        let lead = self.white();
        self.base + self.at + lead
    }

    /// Where the character before a byte of the text ends.
    fn last(&mut self, byte: usize) -> usize {
        let ahead = self.text.get(self.from..byte).unwrap_or_default();
        let mut ahead = Self { at: self.at, from: self.from, text: ahead, ..*self };
        let mut end = ahead.at;
        for _ in ahead.text.chars().filter(|c| !c.is_whitespace()) {
            ahead.at += ahead.skip().len();
            end = ahead.at;
        }
        self.base + end
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

    /// What was written for the next character that is no white space, with the white space before it.
    fn skip(&self) -> Range<usize> {
        let rest = &self.written[self.at..];
        let lead = self.white();
        let one = match self.style {
            Style::Double if rest[lead..].starts_with('\\') => escape(&rest[lead..]),
            Style::Single if rest[lead..].starts_with("''") => 2,
            _ => rest[lead..].chars().next().map_or(0, char::len_utf8),
        };
        0..lead + one
    }
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

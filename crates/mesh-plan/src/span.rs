//! Where something stands in its file: two bytes, half as large as a range, and copied as a number is.
//!
//! A plan of many modules holds millions of these. No file of a description is nearly as long as what fits.

use std::ops::Range;

/// Some bytes of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The very beginning of a file: what is missing is missing there.
    pub const BEGINNING: Self = Self { start: 0, end: 0 };

    /// From one byte to another.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        let number = |byte| u32::try_from(byte).unwrap_or(u32::MAX);
        Self { start: number(start), end: number(end) }
    }

    /// The first byte.
    #[must_use]
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// The byte behind the last.
    #[must_use]
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// The same as a range.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start()..self.end()
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self::new(range.start, range.end)
    }
}

//! One file of a description: its text, and where a byte of it stands for people.

use std::borrow::Cow;
use std::cell::OnceCell;

use mesh_model::name::ModuleName;
use mesh_model::refusal::{Code, Refusal};

use crate::span::Span;

/// A file of a description.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// Its path in the description's folder.
    pub path: Cow<'a, str>,
    /// The module whose manifest it is, or beside whose manifest it lies; none for `mesh.yaml`.
    pub module: Option<ModuleName>,
    /// Its text; what is no UTF-8 is replaced, and refused where it is parsed.
    pub text: Cow<'a, str>,
    /// Asked for only where something is told of it, which is as a rule never.
    marks: OnceCell<Marks>,
}

/// Where lines and characters begin.
#[derive(Debug, Clone)]
struct Marks {
    /// The byte at which each line begins.
    lines: Vec<usize>,
    /// How many characters stand before each [`STEP`] bytes; none where every character is a byte.
    characters: Option<Vec<usize>>,
}

/// A place on a line of any length costs looking at so many bytes.
const STEP: usize = 256;

impl<'a> Source<'a> {
    /// Takes a text.
    #[must_use]
    pub fn new(
        path: impl Into<Cow<'a, str>>,
        module: Option<ModuleName>,
        text: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self { path: path.into(), module, text: text.into(), marks: OnceCell::new() }
    }

    /// The line and the column of a byte, both from 1, the column in characters.
    #[must_use]
    pub fn place(&self, byte: usize) -> (usize, usize) {
        let marks = self.marks.get_or_init(|| Marks::of(&self.text));
        let byte = byte.min(self.text.len());
        let line = marks.lines.partition_point(|start| *start <= byte);
        let start = marks.lines[line - 1];
        (line, marks.before(&self.text, byte) - marks.before(&self.text, start) + 1)
    }

    /// A refusal of something in this file.
    #[must_use]
    pub fn refuse(&self, code: Code, span: Span, message: String, help: String) -> Refusal {
        let (line, column) = self.place(span.start());
        Refusal {
            code,
            message,
            file: self.path.clone().into_owned(),
            line,
            column,
            span: span.range(),
            node: None,
            module: self.module.clone(),
            name: None,
            help,
        }
    }
}

impl Marks {
    fn of(text: &str) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { lines, characters: (!text.is_ascii()).then(|| steps(text)) }
    }

    /// How many characters begin before a byte.
    fn before(&self, text: &str, byte: usize) -> usize {
        let Some(characters) = &self.characters else { return byte };
        let step = byte / STEP;
        characters[step] + begins(&text.as_bytes()[step * STEP..byte])
    }
}

/// How many characters begin in these bytes.
fn begins(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count()
}

fn steps(text: &str) -> Vec<usize> {
    let mut before = 0;
    let mut steps = vec![0];
    for chunk in text.as_bytes().chunks(STEP) {
        before += begins(chunk);
        steps.push(before);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_counts_characters() {
        let text = format!("é\n{}x", "é".repeat(1000));
        let source = Source::new("mesh.yaml", None, text);
        assert_eq!((source.place(0), source.place(2), source.place(3)), ((1, 1), (1, 2), (2, 1)));
        assert_eq!(
            (source.place(2003), source.place(2004), source.place(9999)),
            ((2, 1001), (2, 1002), (2, 1002))
        );
    }
}

//! One file of a description: its text, and where a byte of it stands for people.

use mesh_model::name::ModuleName;
use mesh_model::refusal::{Code, Refusal};

use crate::span::Span;

/// A YAML file of a description.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its path in the description's folder.
    pub path: String,
    /// The module whose manifest it is; none for `mesh.yaml`.
    pub module: Option<ModuleName>,
    /// Its text; what is no UTF-8 is replaced, and refused where it is parsed.
    pub text: String,
    /// The byte at which each line begins.
    lines: Vec<usize>,
    /// How many characters stand before each [`STEP`] bytes; none where every character is a byte.
    characters: Option<Vec<usize>>,
}

/// A place on a line of any length costs looking at so many bytes.
const STEP: usize = 256;

impl Source {
    /// Takes a text and finds its lines.
    #[must_use]
    pub fn new(path: String, module: Option<ModuleName>, text: String) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let characters = (!text.is_ascii()).then(|| marks(&text));
        Self { path, module, text, lines, characters }
    }

    /// The line and the column of a byte, both from 1, the column in characters.
    #[must_use]
    pub fn place(&self, byte: usize) -> (usize, usize) {
        let byte = byte.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= byte);
        let start = self.lines[line - 1];
        (line, self.before(byte) - self.before(start) + 1)
    }

    /// How many characters begin before a byte.
    fn before(&self, byte: usize) -> usize {
        let Some(marks) = &self.characters else { return byte };
        let step = byte / STEP;
        marks[step] + begins(&self.text.as_bytes()[step * STEP..byte])
    }

    /// A refusal of something in this file.
    #[must_use]
    pub fn refuse(&self, code: Code, span: Span, message: String, help: String) -> Refusal {
        let (line, column) = self.place(span.start());
        Refusal {
            code,
            message,
            file: self.path.clone(),
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

/// How many characters begin in these bytes.
fn begins(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count()
}

fn marks(text: &str) -> Vec<usize> {
    let mut before = 0;
    let mut marks = vec![0];
    for chunk in text.as_bytes().chunks(STEP) {
        before += begins(chunk);
        marks.push(before);
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_counts_characters() {
        let text = format!("é\n{}x", "é".repeat(1000));
        let source = Source::new("mesh.yaml".to_owned(), None, text);
        assert_eq!((source.place(0), source.place(2), source.place(3)), ((1, 1), (1, 2), (2, 1)));
        assert_eq!(
            (source.place(2003), source.place(2004), source.place(9999)),
            ((2, 1001), (2, 1002), (2, 1002))
        );
    }
}

//! One file of a description: its text, and where a byte of it stands for people.

use std::ops::Range;

use mesh_model::name::ModuleName;
use mesh_model::refusal::{Code, Refusal};

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
}

impl Source {
    /// Takes a text and finds its lines.
    #[must_use]
    pub fn new(path: String, module: Option<ModuleName>, text: String) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { path, module, text, lines }
    }

    /// The line and the column of a byte, both from 1, the column in characters.
    #[must_use]
    pub fn place(&self, byte: usize) -> (usize, usize) {
        let byte = byte.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= byte);
        let start = self.lines[line - 1];
        let before = self.text.get(start..byte).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// A refusal of something in this file.
    #[must_use]
    pub fn refuse(&self, code: Code, span: &Range<usize>, message: String, help: String) -> Refusal {
        let (line, column) = self.place(span.start);
        Refusal {
            code,
            message,
            file: self.path.clone(),
            line,
            column,
            span: span.clone(),
            node: None,
            module: self.module.clone(),
            name: None,
            help,
        }
    }
}

//! Columns of text that fit a width: the last column is wrapped, and a note stands under its row.
//!
//! It knows no colour: [`Cell`] carries a tone, and whoever prints says how it looks, so that escapes never count as width.

use crate::screen::{Screen, Tone, WIDTH};

/// Between two columns.
const GAP: usize = 2;
/// The least that the last column is wrapped to.
const LEAST: usize = 16;

/// What stands in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    tone: Option<Tone>,
}

impl Cell {
    /// With a tone.
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone: Some(tone) }
    }
}

impl<T: ToString> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.to_string(), tone: None }
    }
}

/// Rows below a head.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Row>,
    head: usize,
}

#[derive(Debug)]
enum Row {
    Cells(Vec<Cell>),
    Note(String),
}

impl Table {
    /// With these words above its columns.
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        let head = head.into_iter().map(|word| Cell::toned(word, Tone::Quiet)).collect();
        Self { rows: vec![Row::Cells(head)], head: N }
    }

    /// A row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        debug_assert_eq!(N, self.head, "a row has as many cells as the head");
        self.rows.push(Row::Cells(cells.into()));
    }

    /// A line under the row before, indented.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Note(text.into()));
    }

    /// The whole as it is printed on standard output.
    pub(crate) fn drawn(&self, screen: &Screen) -> String {
        self.laid_out(|tone, text| screen.on_out(tone, text))
    }

    fn laid_out(&self, paint: impl Fn(Tone, &str) -> String) -> String {
        let widths = self.widths();
        let mut out = String::new();
        for row in &self.rows {
            match row {
                Row::Cells(cells) => lay_row(&mut out, cells, &widths, &paint),
                Row::Note(text) => {
                    for line in wrapped(text, WIDTH - 4) {
                        out.push_str(&format!("    {line}\n"));
                    }
                }
            }
        }
        out
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.head];
        for row in &self.rows {
            let Row::Cells(cells) = row else { continue };
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.text.chars().count());
            }
        }
        widths
    }
}

fn lay_row(out: &mut String, cells: &[Cell], widths: &[usize], paint: &impl Fn(Tone, &str) -> String) {
    let paint = |cell: &Cell, text: &str| match cell.tone {
        Some(tone) if !text.is_empty() => paint(tone, text),
        _ => text.to_owned(),
    };
    let Some((last, before)) = cells.split_last() else { return };
    let mut line = String::new();
    let mut begin = 0;
    for (cell, width) in before.iter().zip(widths) {
        let missing = width - cell.text.chars().count() + GAP;
        line.push_str(&paint(cell, &cell.text));
        line.push_str(&" ".repeat(missing));
        begin += width + GAP;
    }
    for part in wrapped(&last.text, WIDTH.saturating_sub(begin).max(LEAST)) {
        out.push_str(format!("{line}{}", paint(last, &part)).trim_end());
        out.push('\n');
        line = " ".repeat(begin);
    }
}

/// A text in lines of at most so many characters, broken at spaces; a longer word is a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            let have = line.chars().count();
            if have > 0 && have + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests;

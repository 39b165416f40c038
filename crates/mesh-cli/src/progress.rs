//! Shows what is going on: on a terminal in place, elsewhere a line a change.

use std::collections::BTreeSet;

use crate::screen::{Screen, Tone};
use crate::table::wrapped;

/// The most rows that are drawn in place.
const MOST: usize = 12;
/// Before the first row of a line, and before each further one.
const MARKS: (&str, &str) = ("·", " ");

/// What is shown now. On a terminal it is taken away when dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    screen: Screen,
    shown: Vec<String>,
    drawn: usize,
}

impl Progress {
    /// Nothing yet.
    pub(crate) fn new(screen: Screen) -> Self {
        Self { screen, shown: Vec::new(), drawn: 0 }
    }

    /// From now on, this is going on.
    pub(crate) fn show(&mut self, lines: Vec<String>) {
        if lines == self.shown {
            return;
        }
        match self.screen.live {
            true => self.draw(&lines),
            false => {
                let before: BTreeSet<&String> = self.shown.iter().collect();
                lines.iter().filter(|line| !before.contains(line)).for_each(|line| self.screen.say(line));
            }
        }
        self.shown = lines;
    }

    fn draw(&mut self, lines: &[String]) {
        let mut text = self.erase();
        let rows = rows(lines, self.screen.columns());
        self.drawn = rows.len();
        for (mark, row) in rows {
            text.push_str(&format!("{} {row}\n", self.screen.on_err(Tone::Waiting, mark)));
        }
        self.screen.draw(&text);
    }

    /// Goes up over what was drawn, and takes it away.
    fn erase(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\u{1b}[{lines}A\u{1b}[J"),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let text = self.erase();
        self.screen.draw(&text);
    }
}

/// What is drawn, each row behind its mark; none runs over the edge, or going up would go too short.
fn rows(lines: &[String], columns: usize) -> Vec<(&'static str, String)> {
    let width = columns.saturating_sub(3).max(1);
    let mut rows = Vec::new();
    for line in lines {
        let line = line.replace(char::is_control, " ");
        let marks = [MARKS.0].into_iter().chain(std::iter::repeat(MARKS.1));
        rows.extend(marks.zip(wrapped(&line, width).into_iter().map(|part| cut(part, width))));
    }
    if rows.len() > MOST {
        rows.truncate(MOST - 1);
        rows.push((MARKS.1, "and more".to_owned()));
    }
    rows
}

/// A word may be longer than a row.
fn cut(part: String, width: usize) -> String {
    match part.chars().count() <= width {
        true => part,
        false => part.chars().take(width - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests;

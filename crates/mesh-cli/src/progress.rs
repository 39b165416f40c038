//! Shows what is going on: on a terminal in place, elsewhere a line a change.

use std::collections::BTreeSet;

use crate::screen::{Screen, Tone, WIDTH};

/// The most lines that are drawn in place.
const MOST: usize = 12;

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
        let more = lines.len().saturating_sub(MOST);
        for line in lines.iter().take(MOST) {
            let mark = self.screen.on_err(Tone::Waiting, "·");
            text.push_str(&format!("{mark} {}\n", cut(line, WIDTH - 3)));
        }
        if more > 0 {
            text.push_str(&format!("  and {more} more\n"));
        }
        self.drawn = lines.len().min(MOST) + usize::from(more > 0);
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

/// A line that is drawn in place must not run over the edge, or going up would go too short.
fn cut(line: &str, width: usize) -> String {
    let line = line.replace(char::is_control, " ");
    match line.chars().count() <= width {
        true => line,
        false => line.chars().take(width - 1).chain(['…']).collect(),
    }
}

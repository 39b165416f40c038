//! Where words go: data to standard output, everything else to standard error; colour on a terminal alone.
//!
//! Start at [`Screen::of_process`], which looks at the process once. Nothing else of this program asks whether something is a
//! terminal, or writes an escape.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::table::wrapped;

/// What text is wrapped to where nothing says how wide the terminal is, and at most.
pub(crate) const WIDTH: usize = 80;

/// What a word is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it should be.
    Good,
    /// Not yet as it should be.
    Waiting,
    /// Wrong.
    Bad,
    /// What a line is about.
    Strong,
    /// What is only there for order.
    Quiet,
}

impl Tone {
    fn escape(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Waiting => "33",
            Self::Bad => "31",
            Self::Strong => "1",
            Self::Quiet => "2",
        }
    }
}

/// The process's standard streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    colour_out: bool,
    colour_err: bool,
    /// Whether standard error is a terminal, on which lines can be drawn again.
    pub(crate) live: bool,
    /// Whether somebody is there to be asked.
    pub(crate) asks: bool,
}

impl Screen {
    /// Looks at the process's streams and at `NO_COLOR`.
    #[expect(clippy::disallowed_methods, reason = "this is the edge that reads the environment once")]
    pub(crate) fn of_process() -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let plain = dumb || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self {
            colour_out: out && !plain,
            colour_err: err && !plain,
            live: err && !dumb,
            asks: err && io::stdin().is_terminal(),
        }
    }

    /// How many columns of the terminal lines may be drawn in.
    pub(crate) fn columns(&self) -> usize {
        let size = rustix::termios::tcgetwinsize(io::stderr());
        let columns = size.map_or(0, |size| usize::from(size.ws_col));
        // A terminal that does not know says 0.
        if columns == 0 { WIDTH } else { columns.clamp(20, WIDTH) }
    }

    /// Data, on standard output. A reader that has gone away ends it quietly.
    pub(crate) fn print(&self, text: impl fmt::Display) -> Result<(), Failure> {
        self.print_bytes(format!("{text}").as_bytes())
    }

    /// Data, byte for byte.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::new(error).hint("standard output could not be written"))
            }
            _ => Ok(()),
        }
    }

    /// One JSON document, on standard output.
    pub(crate) fn print_json(&self, document: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document).map_err(Failure::new)?;
        self.print(format!("{text}\n"))
    }

    /// A line for people, on standard error.
    pub(crate) fn say(&self, line: impl fmt::Display) {
        // Where even that cannot be written, there is nobody to tell.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    /// Text for people without an end of line, on standard error.
    pub(crate) fn draw(&self, text: &str) {
        let mut err = io::stderr().lock();
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }

    /// A warning, on standard error.
    pub(crate) fn warn(&self, text: impl fmt::Display) {
        self.labelled("warning", Tone::Waiting, &text.to_string());
    }

    /// What failed: the cause, what followed from it, and the way out.
    pub(crate) fn fail(&self, failure: &Failure) {
        let mut chain = failure.chain().into_iter();
        self.labelled("error", Tone::Bad, &chain.next().unwrap_or_default());
        chain.for_each(|text| self.labelled("so", Tone::Bad, &text));
        if let Some(hint) = failure.way_out() {
            self.labelled("help", Tone::Strong, hint);
        }
    }

    fn labelled(&self, label: &str, tone: Tone, text: &str) {
        let indent = label.len() + 2;
        let text = wrapped(text, WIDTH - indent).join(&format!("\n{}", " ".repeat(indent)));
        self.say(format!("{}: {text}", self.on_err(tone, label)));
    }

    /// A word as it looks on standard output.
    pub(crate) fn on_out(&self, tone: Tone, word: &str) -> String {
        painted(self.colour_out, tone, word)
    }

    /// A word as it looks on standard error.
    pub(crate) fn on_err(&self, tone: Tone, word: &str) -> String {
        painted(self.colour_err, tone, word)
    }

    /// Whether standard error takes colour.
    pub(crate) fn colours_err(&self) -> bool {
        self.colour_err
    }

    /// How a command ended, once what failed is said.
    pub(crate) fn end(&self, ended: Result<Exit, Failure>) -> ExitCode {
        match ended {
            Ok(exit) => exit.into(),
            Err(failure) => {
                self.fail(&failure);
                failure.exit.into()
            }
        }
    }
}

fn painted(colour: bool, tone: Tone, word: &str) -> String {
    match colour {
        true => format!("\u{1b}[{}m{word}\u{1b}[0m", tone.escape()),
        false => word.to_owned(),
    }
}

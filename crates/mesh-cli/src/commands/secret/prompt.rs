//! Reads a secret: from a terminal without an echo, twice; or from standard input to its end.
//!
//! It reads past the buffer of the standard library, which nobody wipes. Interrupted, the terminal echoes again.

use std::io;

use mesh_seal::Secret;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::exit::Failure;
use crate::screen::Screen;

/// The longest that is read, in bytes: more than the vault takes.
const LONGEST: usize = 64 * 1024;

/// Why no value was read.
#[derive(Debug, Error)]
enum PromptError {
    #[error("cannot read the value from standard input")]
    Read(#[source] io::Error),
    #[error("cannot turn off the terminal's echo")]
    Echo(#[source] io::Error),
    #[error("the two are not the same")]
    Differ,
    #[error("the value is longer than {LONGEST} bytes")]
    TooLong,
    #[error("interrupted")]
    Interrupted,
}

/// How much of standard input is one value.
#[derive(Debug, Clone, Copy)]
enum Until {
    Line,
    End,
}

/// Asks for the value of what is named, where somebody is there to be asked. One line break at its end is no part of it.
pub(super) async fn read(screen: &Screen, name: &str) -> Result<Secret, Failure> {
    if !screen.asks {
        return taken(Until::End).await.map_err(Failure::new);
    }
    let twice = twice(screen, name).await;
    twice.map_err(|error| Failure::new(error).hint("nothing was set"))
}

async fn twice(screen: &Screen, name: &str) -> Result<Secret, PromptError> {
    let _quiet = Quiet::begin().map_err(PromptError::Echo)?;
    let first = asked(screen, &format!("{name}: ")).await?;
    let second = asked(screen, "once more: ").await?;
    if first.expose() == second.expose() { Ok(first) } else { Err(PromptError::Differ) }
}

async fn asked(screen: &Screen, question: &str) -> Result<Secret, PromptError> {
    screen.draw(question);
    let value = taken(Until::Line).await;
    screen.draw("\n");
    value
}

async fn taken(until: Until) -> Result<Secret, PromptError> {
    tokio::select! {
        value = tokio::task::spawn_blocking(move || take(until)) => value.expect("reading does not panic"),
        _ = tokio::signal::ctrl_c() => Err(PromptError::Interrupted),
    }
}

fn take(until: Until) -> Result<Secret, PromptError> {
    // As large as it may become, so that it never grows and leaves an unwiped copy behind.
    let mut value = Zeroizing::new(Vec::with_capacity(LONGEST));
    let mut piece = Zeroizing::new([0u8; 4096]);
    loop {
        // A terminal hands over one line at a time.
        let many = rustix::io::read(io::stdin(), &mut piece[..]).map_err(|e| PromptError::Read(e.into()))?;
        if value.len() + many > LONGEST {
            return Err(PromptError::TooLong);
        }
        value.extend_from_slice(&piece[..many]);
        if many == 0 || matches!(until, Until::Line) && value.ends_with(b"\n") {
            break;
        }
    }
    let text = value.strip_suffix(b"\n").unwrap_or(&value);
    Ok(Secret::new(text.to_vec()))
}

/// A terminal without an echo, for as long as it lives.
struct Quiet(Termios);

impl Quiet {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

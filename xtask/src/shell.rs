//! Starts other programs, says what is done, and says what went wrong.

use std::io::Write;
use std::process::{Command, Output, Stdio};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot start `{command}`")]
    Start { command: String, source: std::io::Error },
    #[error("`{command}` failed ({status})")]
    Failed { command: String, status: std::process::ExitStatus },
}

/// Runs a command to its end, its output where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<(), Error> {
    let name = line(command);
    say(&format!("$ {name}"));
    let status = command.status().map_err(|source| Error::Start { command: name.clone(), source })?;
    if status.success() { Ok(()) } else { Err(Error::Failed { command: name, status }) }
}

/// Runs a command to its end and takes its output; what it says on standard error is ours too.
pub(crate) fn read(command: &mut Command) -> Result<String, Error> {
    let name = line(command);
    let Output { status, stdout, .. } = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| Error::Start { command: name.clone(), source })?;
    if status.success() {
        Ok(String::from_utf8_lossy(&stdout).into_owned())
    } else {
        Err(Error::Failed { command: name, status })
    }
}

/// What a command prints where it works, and nothing where it does not.
pub(crate) fn probe(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Says something to whoever runs this program.
pub(crate) fn say(text: &str) {
    // On standard error, which is not buffered: in order with what the programs started here say. If nobody listens,
    // there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
}

/// An error and what caused it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

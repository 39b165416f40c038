//! What runs between us and the server, for a moment: it asks to end when we do, and becomes the server.
//!
//! It is a stage of its own because the asking has to happen in the child, between its birth and its becoming
//! the server, where only unsafe code could do it from here.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// Something is wrong with the command, or whoever started it is gone.
const NOT_STARTED: u8 = 125;
/// The program cannot be run; as a shell says it.
const CANNOT_RUN: u8 = 126;

/// Becomes a command that is sent SIGTERM when the process of this id, our parent, ends. Arguments: the id,
/// then the command.
///
/// Returns only where that fails.
#[must_use]
pub fn launch(arguments: &[OsString]) -> ExitCode {
    let [parent, program, rest @ ..] = arguments else { return ExitCode::from(NOT_STARTED) };
    let parent: Option<i32> = parent.to_str().and_then(|text| text.parse().ok());
    if set_parent_process_death_signal(Some(Signal::TERM)).is_err() {
        return ExitCode::from(NOT_STARTED);
    }
    // It may have ended before we asked.
    if parent.is_none() || getppid().map(|pid| pid.as_raw_nonzero().get()) != parent {
        return ExitCode::from(NOT_STARTED);
    }
    let error = Command::new(program).args(rest).exec();
    tracing::error!(%error, program = %program.display(), "cannot run it");
    ExitCode::from(CANNOT_RUN)
}

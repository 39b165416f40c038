//! The small process between the node and one service: it outlives the node just long enough to end the service well.
//!
//! The program starts itself again in two stages, both through [`main`]:
//!
//! 1. the *keeper* ([`keeper`]) adopts every orphan below it, hears of the node's death as SIGTERM, carries the service's
//!    output to its log, and leaves only when nothing of the service is left;
//! 2. the *entrance* ([`entrance`]), its child, becomes another user where asked, dies with the keeper, and turns into the
//!    service.
//!
//! It takes two because the user must change, and the session begin, between fork and exec, where only unsafe code
//! could do it in the keeper. What to run comes as an [`Order`] through standard input: arguments are for everybody to
//! read, and the environment of the keeper itself would be read for as long as it runs.
//!
//! Contained is what does not resist: without root or cgroups nothing can hold a process that its keeper was killed
//! above (`kill -9`), that has left its session and overwritten its environment.
//!
//! It knows no module, no bus, and decides nothing about starting again.

use std::{
    ffi::{OsStr, OsString},
    process::ExitCode,
};

mod entrance;
mod keeper;
mod log;
mod order;
mod record;

pub(crate) use log::numbered;
pub use log::{KEPT, LIMIT};
pub use order::{Head, Order, RunAs, StopSignal};
pub(crate) use record::{Known, Record};

/// The environment entry that marks a service and all that it starts.
pub const MARK: &str = "MESH_SERVICE";

/// Ends a keeper whose order makes no sense, or whose parent is gone before it began.
const NOT_STARTED: u8 = 125;

/// Runs a stage of the shim. To be called before any runtime is started or thread made, with the arguments after
/// the (hidden) command that leads here.
pub fn main(arguments: &[OsString]) -> ExitCode {
    match arguments {
        [stage, parent] => match (stage.to_str(), number(parent)) {
            (Some("keep"), Some(parent)) => {
                close_inherited();
                keeper::main(parent, arguments.len())
            }
            (Some("enter"), Some(parent)) => entrance::main(parent),
            _ => wrong_use(),
        },
        _ => wrong_use(),
    }
}

/// Closes all but the standard three. What we open ourselves is not inherited; what whoever started the mesh left open
/// is, and a service that holds on to a pipe of theirs would keep them waiting for as long as it runs.
fn close_inherited() {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<i32> = open
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in numbers {
        // The listing's own is closed already.
        let _ = nix::unistd::close(number);
    }
}

fn number(text: &OsStr) -> Option<i32> {
    text.to_str()?.parse().ok()
}

fn wrong_use() -> ExitCode {
    say("mesh starts this command itself, for each service");
    ExitCode::from(2)
}

#[expect(
    clippy::print_stderr,
    reason = "standard error is the service's log, or whoever called this by hand"
)]
fn say(what: &str) {
    eprintln!("mesh: {what}");
}

/// Whether the parent is still the one that started us: it may have died before we asked to be told of it.
fn parent_is(expected: i32) -> bool {
    rustix::process::getppid().is_some_and(|parent| parent.as_raw_nonzero().get() == expected)
}

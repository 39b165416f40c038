//! The second stage: becomes the service.
//!
//! One thread and nothing else runs here, so what the system does for one thread (user, groups) is done for the process.

use std::{
    io::{self, Read},
    os::unix::process::CommandExt,
    process::{Command, ExitCode, Stdio},
};

use rustix::{
    fs::{Gid, Mode, Uid},
    process::{Resource, Signal},
};
use zeroize::Zeroizing;

use super::{Order, RunAs, order::Head};

/// A program that is there and cannot be run; as a shell says it.
const CANNOT_RUN: u8 = 126;
/// A program that is not there; as a shell says it.
const NOT_FOUND: u8 = 127;

pub(super) fn main(keeper: i32) -> ExitCode {
    let order = match read() {
        Ok(order) => order,
        Err(error) => {
            super::say(&format!("could not read what to start: {error}"));
            return ExitCode::from(super::NOT_STARTED);
        }
    };
    if let Err((doing, error)) = settle(&order.head) {
        super::say(&format!("could not {doing}: {error}"));
        return ExitCode::from(super::NOT_STARTED);
    }
    if !super::parent_is(keeper) {
        return ExitCode::from(super::NOT_STARTED);
    }
    become_service(&order)
}

fn read() -> io::Result<Order> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(64 * 1024));
    io::stdin().lock().read_to_end(&mut bytes)?;
    Order::decode(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// In this order: what needs the rights that are given up next comes first, and a change of user forgets what is sent
/// when the parent dies.
fn settle(head: &Head) -> Result<(), (&'static str, io::Error)> {
    let failed = |doing| move |errno: rustix::io::Errno| (doing, io::Error::from(errno));
    // A session of its own: no terminal's signals, and a name for all that stays in it.
    rustix::process::setsid().map_err(failed("begin a session"))?;
    rustix::process::umask(Mode::from_raw_mode(0o027));
    // A core file would hold every secret of its environment.
    let limit = rustix::process::Rlimit { current: Some(0), ..rustix::process::getrlimit(Resource::Core) };
    rustix::process::setrlimit(Resource::Core, limit).map_err(failed("forbid core files"))?;
    if let Some(run_as) = &head.run_as {
        become_user(run_as).map_err(failed("become the service's user"))?;
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(failed("ask to end with the keeper"))?;
    std::env::set_current_dir(&head.folder)
        .map_err(|error| ("enter the module's folder as the service's user", error))
}

fn become_user(run_as: &RunAs) -> rustix::io::Result<()> {
    let (uid, gid) = (Uid::from_raw(run_as.uid), Gid::from_raw(run_as.gid));
    // A program that opens /dev/stdout by name opens the pipe anew, as its user.
    rustix::fs::fchown(io::stdout(), Some(uid), Some(gid))?;
    let groups: Vec<Gid> = run_as.groups.iter().copied().map(Gid::from_raw).collect();
    rustix::thread::set_thread_groups(&groups)?;
    rustix::thread::set_thread_gid(gid)?;
    rustix::thread::set_thread_uid(uid)
}

fn become_service(order: &Order) -> ExitCode {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let Some((program, arguments)) = order.head.exec.split_first() else {
        super::say("there is nothing to run");
        return ExitCode::from(super::NOT_STARTED);
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().stdin(Stdio::null());
    for (name, value) in &order.env {
        command.env(name, OsStr::from_bytes(value.expose()));
    }
    let error = command.exec();
    super::say(&format!("could not run `{program}`: {error}"));
    let missing = error.kind() == io::ErrorKind::NotFound;
    ExitCode::from(if missing { NOT_FOUND } else { CANNOT_RUN })
}

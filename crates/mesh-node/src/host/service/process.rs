//! A program below a shim, from this side.

use std::{fmt, io, os::unix::process::ExitStatusExt, process::ExitStatus};

use rustix::process::Signal;
use tokio::{io::AsyncWriteExt, process::Child};

use super::Attempt;
use crate::{
    processes,
    shim::{Head, Order, RunAs},
    users,
};

/// A program that runs, with its shim above it.
pub(in crate::host) struct Process {
    shim: Child,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::host) enum Exit {
    /// As a shell would have it: 128 and more for a signal.
    Code(i32),
    /// The shim itself was killed.
    KeeperKilled,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code @ 129..=192) => write!(f, "ended by signal {}", code - 128),
            Self::Code(code) => write!(f, "ended with {code}"),
            Self::KeeperKilled => f.write_str("ended because the mesh's process above it was killed"),
        }
    }
}

/// Whether what a program says is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::host) enum Said {
    Kept,
    Dropped,
}

impl Process {
    /// Starts it as the service would be: its user, environment, folder and log.
    pub(in crate::host) async fn start(
        attempt: &Attempt<'_>,
        exec: &[String],
        user: Option<&users::User>,
    ) -> io::Result<Self> {
        Self::start_said(attempt, exec, user, Said::Kept).await
    }

    /// As [`Process::start`], with a say in what becomes of its output; one whose output is dropped is no service, and not
    /// recorded as one.
    pub(in crate::host) async fn start_said(
        attempt: &Attempt<'_>,
        exec: &[String],
        user: Option<&users::User>,
        said: Said,
    ) -> io::Result<Self> {
        let (world, module) = (&attempt.job.world, &attempt.job.module.module);
        let is_kept = said == Said::Kept;
        let head = Head {
            exec: exec.to_vec(),
            folder: world.layout.module(module),
            run_as: user.map(|user| RunAs { uid: user.uid, gid: user.gid, groups: user.groups.clone() }),
            stop_signal: attempt.spec.stop_signal,
            stop_deadline: attempt.spec.stop_deadline,
            log: is_kept.then(|| attempt.log()),
            record: is_kept.then(|| world.layout.record(module, &attempt.spec.name)),
            mark: attempt.mark(),
        };
        let order = Order { head, env: attempt.environment(user) }.encode()?;
        let mut shim = world.spawner.shim(&attempt.mark()).await?;
        if let Some(mut input) = shim.stdin.take() {
            input.write_all(&order).await?;
            input.shutdown().await?;
        }
        Ok(Self { shim })
    }

    /// Can be called again after it was given up.
    pub(in crate::host) async fn wait(&mut self) -> Exit {
        match self.shim.wait().await {
            Ok(status) => exit(status),
            // Nobody else waits for our children; were it so, it would be gone.
            Err(_) => Exit::KeeperKilled,
        }
    }

    /// Asks it to stop; its shim sees to the deadline.
    pub(in crate::host) fn stop(&self) {
        self.signal(Signal::TERM);
    }

    pub(in crate::host) fn reload(&self) {
        self.signal(Signal::HUP);
    }

    fn signal(&self, signal: Signal) {
        // Without an id it has been waited for already.
        if let Some(pid) = self.shim.id().and_then(|id| i32::try_from(id).ok()) {
            let _ = processes::signal(pid, signal);
        }
    }
}

/// Nobody waits for it any more, so nobody would stop it.
impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, _) => Exit::KeeperKilled,
    }
}

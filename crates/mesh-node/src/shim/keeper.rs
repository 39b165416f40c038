//! The first stage: starts the entrance, and stays until nothing of the service is left.
//!
//! One loop over signals, output and a deadline. Everything that is orphaned below becomes a child of this process (it is
//! its subreaper), so whatever a service does to get away, it is still found here.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use rustix::process::{Signal, WaitOptions, WaitStatus};
use tokio::{
    net::unix::pipe,
    signal::unix::{SignalKind, signal},
    time::Instant,
};
use zeroize::Zeroizing;

use super::{Known, LIMIT, NOT_STARTED, Order, Record, log::Log, order::Head};
use crate::processes::{self, Life};

/// What a service leaves when it ends by itself gets this long.
const LEFT_OVER: Duration = Duration::from_secs(3);
/// Between two rounds of killing: who was killed must be waited for, and may have started others meanwhile.
const ROUND: Duration = Duration::from_millis(20);
/// What cannot even be killed (it waits for a broken disk, say) is left to the system after this.
const GIVE_UP: Duration = Duration::from_secs(10);
/// How much output is read at once, in bytes, and how often before signals are looked at again: together as much as a
/// pipe ever holds.
const PIECE: usize = 16 * 1024;
const PIECES: usize = 64;

pub(super) fn main(node: i32, own_arguments: usize) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(keep(node, own_arguments))) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            super::say(&format!("could not keep the service: {error}"));
            ExitCode::from(NOT_STARTED)
        }
    }
}

/// How far the service's end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Serving,
    /// Asked to stop; killed at `next`, again and again, until `give_up`.
    Ending {
        next: Instant,
        give_up: Instant,
    },
    GivenUp,
}

impl Phase {
    fn ending_within(deadline: Duration) -> Self {
        let next = Instant::now() + deadline;
        Self::Ending { next, give_up: next + GIVE_UP }
    }
}

/// Whether more output may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Open,
    Closed,
}

struct Keeper {
    own: i32,
    service: i32,
    /// The exit code, once it has ended.
    ended: Option<u8>,
    phase: Phase,
    head: Head,
    pipe: pipe::Receiver,
    output: Output,
    log: Option<Log>,
}

async fn keep(node: i32, own_arguments: usize) -> io::Result<u8> {
    let mut children = signal(SignalKind::child())?;
    let mut stop = signal(SignalKind::terminate())?;
    let mut reload = signal(SignalKind::hangup())?;
    // Only now that SIGTERM is heard.
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    if !super::parent_is(node) {
        return Ok(NOT_STARTED);
    }
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let mut keeper = Keeper::start(own_arguments)?;
    loop {
        keeper.reap();
        if keeper.is_done() {
            break;
        }
        tokio::select! {
            _ = children.recv() => {}
            _ = stop.recv() => keeper.stop(),
            _ = reload.recv() => keeper.reload(),
            _ = keeper.pipe.readable(), if keeper.output == Output::Open => keeper.carry(),
            () = wake(keeper.phase) => keeper.kill(),
        }
    }
    Ok(keeper.leave())
}

impl Keeper {
    fn start(own_arguments: usize) -> io::Result<Self> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(64 * 1024));
        io::stdin().lock().read_to_end(&mut bytes)?;
        let head = Order::decode(&bytes).ok_or(io::ErrorKind::InvalidData)?.head;
        let log = head.log.as_deref().map(|path| Log::open(path, LIMIT)).transpose()?;
        let (output, input) = io::pipe()?;
        let mut child = enter(&head, own_arguments, input)?;
        // Where it has ended already, its own words are in its output.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(&bytes));
        let own = i32::try_from(std::process::id()).map_err(io::Error::other)?;
        let service = i32::try_from(child.id()).map_err(io::Error::other)?;
        let keeper = Self {
            own,
            service,
            ended: None,
            phase: Phase::Serving,
            pipe: pipe::Receiver::from_owned_fd(output.into())?,
            output: Output::Open,
            log,
            head,
        };
        if let Some(path) = &keeper.head.record {
            keeper.note(path)?;
        }
        Ok(keeper)
    }

    fn note(&self, path: &Path) -> io::Result<()> {
        let (Some(keeper), Some(service)) = (Known::of(self.own), Known::of(self.service)) else {
            return Ok(());
        };
        let stop_deadline = u64::try_from(self.head.stop_deadline.as_millis()).unwrap_or(u64::MAX);
        let mark = self.head.mark.clone();
        Record { boot: processes::boot(), keeper, service, mark, stop_deadline }.write(path)
    }

    /// Waits for whoever has ended: the service, and every orphan that came to us.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid.as_raw_nonzero().get() == self.service {
                self.ended = Some(code(status));
            }
        }
    }

    /// Whether nothing is left; sees to what is left of a service that has ended.
    fn is_done(&mut self) -> bool {
        if self.phase == Phase::GivenUp {
            return true;
        }
        if self.ended.is_none() {
            return false;
        }
        let left = processes::descendants(&processes::all(), self.own);
        if self.phase == Phase::Serving && !left.is_empty() {
            self.phase = Phase::ending_within(self.head.stop_deadline.min(LEFT_OVER));
        }
        // Told again each time round: some may have been born meanwhile.
        tell(&left, Signal::TERM);
        left.is_empty()
    }

    fn stop(&mut self) {
        if self.phase == Phase::Serving {
            // Its first process alone: it knows best what to do about the others.
            let _ = processes::signal(self.service, self.head.stop_signal.signal());
            self.phase = Phase::ending_within(self.head.stop_deadline);
        }
    }

    fn reload(&self) {
        if self.ended.is_none() {
            let _ = processes::signal(self.service, Signal::HUP);
        }
    }

    fn kill(&mut self) {
        let Phase::Ending { give_up, .. } = self.phase else { return };
        tell(&processes::descendants(&processes::all(), self.own), Signal::KILL);
        let next = Instant::now() + ROUND;
        self.phase = if next > give_up { Phase::GivenUp } else { Phase::Ending { next, give_up } };
    }

    /// What there is of the output, to the log; not all at once, so that signals are heard meanwhile.
    fn carry(&mut self) {
        let mut piece = [0; PIECE];
        for _ in 0..PIECES {
            match self.pipe.try_read(&mut piece) {
                Ok(0) => {
                    self.output = Output::Closed;
                    return;
                }
                Ok(length) => add(&mut self.log, &piece[..length]),
                Err(_) => return,
            }
        }
    }

    fn leave(mut self) -> u8 {
        if let Ok(pipe) = self.pipe.into_nonblocking_fd() {
            carry_last(pipe.into(), &mut self.log);
        }
        if let (Some(path), true) = (&self.head.record, self.phase != Phase::GivenUp) {
            // It may be gone with its whole folder.
            let _ = std::fs::remove_file(path);
        }
        self.ended.unwrap_or(NOT_STARTED)
    }
}

fn add(log: &mut Option<Log>, output: &[u8]) {
    if let Some(log) = log {
        log.add(output);
    }
}

/// The rest of the output, read without asking the runtime: it may not have heard yet that there is any.
fn carry_last(mut pipe: File, log: &mut Option<Log>) {
    let mut piece = [0; PIECE];
    for _ in 0..PIECES {
        match pipe.read(&mut piece) {
            Ok(length) if length > 0 => add(log, &piece[..length]),
            _ => return,
        }
    }
}

async fn wake(phase: Phase) {
    match phase {
        Phase::Ending { next, .. } => tokio::time::sleep_until(next).await,
        Phase::Serving | Phase::GivenUp => std::future::pending().await,
    }
}

/// Starts this program again as the entrance: whatever this program was called with, with other last arguments.
fn enter(head: &Head, own_arguments: usize, output: io::PipeWriter) -> io::Result<std::process::Child> {
    let called: Vec<OsString> = std::env::args_os().collect();
    let (program, before) =
        called[..called.len() - own_arguments].split_first().ok_or(io::ErrorKind::InvalidInput)?;
    // By this name it is the same program even where the file has been replaced meanwhile.
    Command::new("/proc/self/exe")
        .arg0(program)
        .args(before)
        .arg("enter")
        .arg(std::process::id().to_string())
        .env_clear()
        .env(super::MARK, &head.mark)
        .stdin(Stdio::piped())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
}

fn tell(whom: &[processes::Process], what: Signal) {
    for process in whom.iter().filter(|process| process.life == Life::Alive) {
        // Who has ended since we looked needs no telling.
        let _ = processes::signal(process.pid, what);
    }
}

/// The exit code as a shell would have it.
fn code(status: WaitStatus) -> u8 {
    let number = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => i32::from(NOT_STARTED),
    };
    u8::try_from(number).unwrap_or(u8::MAX)
}

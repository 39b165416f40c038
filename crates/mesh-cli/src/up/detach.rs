//! `mesh up --detach`: leaves a process behind that is up, and comes back once everything is applied.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::folder::Folder;
use super::{UpArgs, absolute};
use crate::exit::{Exit, Failure};
use crate::planning::Read;
use crate::reach::{BusArgs, BusFile};
use crate::screen::Screen;
use crate::wait::{Waited, until_settled};

const GLANCE: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
enum DetachError {
    #[error("cannot start {program}")]
    Start { program: String, source: std::io::Error },
    #[error("what was left running has ended ({status}){said}")]
    Ended { status: std::process::ExitStatus, said: String },
}

/// A session of its own: what becomes of the terminal is nothing to us.
pub(crate) fn leave_the_terminal() {
    // It fails where we lead a session already, and then there is nothing to leave.
    let _ = rustix::process::setsid();
}

/// Starts a process that stays, and waits until everything is applied.
pub(crate) async fn run(args: &UpArgs, screen: Screen, program: &Path) -> Result<Exit, Failure> {
    // What is wrong with the description is for whoever sits here, not for a log.
    Read::of(&args.dir, &screen)?;
    let folder = Folder::make(&args.state())?;
    drop(folder.take()?);
    folder.retract();
    let log = folder.log()?;
    let begin = log.metadata().map_or(0, |log| log.len());
    let fail = |source| Failure::new(DetachError::Start { program: program.display().to_string(), source });
    let mut command = Command::new(program);
    command.args(["up", "--detached", "--state"]).arg(folder.path());
    if let Some(server) = &args.nats_server {
        command.arg("--nats-server").arg(absolute(server));
    }
    command.arg("--").arg(absolute(&args.dir));
    command.stdin(Stdio::null()).stdout(log.try_clone().map_err(fail)?).stderr(log);
    let mut child = command.spawn().map_err(fail)?;
    let end = Instant::now() + Duration::from_secs(args.timeout);
    while !BusFile::path(folder.path()).exists() {
        if let Some(status) = child.try_wait().map_err(fail)? {
            let hint = format!("{} says more", folder.log_path().display());
            let said = last_words(&folder.log_path(), begin);
            return Err(Failure::new(DetachError::Ended { status, said }).hint(hint));
        }
        if Instant::now() > end {
            return Ok(ran_out(&screen, &folder));
        }
        sleep(GLANCE).await;
    }
    let bus = BusArgs::of_state(folder.path()).connect(&args.dir).await?;
    let left = end.saturating_duration_since(Instant::now());
    match until_settled(&bus, &screen, Some(left)).await? {
        Waited::Settled(status) => {
            screen.print(status.table(&screen))?;
            screen.say(format!(
                "everything is applied; `mesh down` stops it. Log: {}",
                folder.log_path().display()
            ));
            Ok(Exit::Done)
        }
        Waited::RanOut(_) => Ok(ran_out(&screen, &folder)),
    }
}

/// What it said at its end, from where its log was when it was started.
fn last_words(log: &Path, begin: u64) -> String {
    let log = std::fs::read(log).unwrap_or_default();
    let since = usize::try_from(begin).ok().and_then(|begin| log.get(begin..)).unwrap_or_default();
    let since = String::from_utf8_lossy(since);
    since.rfind("error: ").map(|at| format!(":\n{}", since[at..].trim_end())).unwrap_or_default()
}

fn ran_out(screen: &Screen, folder: &Folder) -> Exit {
    screen.warn(format!(
        "not everything is applied yet, and it goes on; `mesh status` says what waits, {} what went wrong",
        folder.log_path().display()
    ));
    Exit::RanOut
}

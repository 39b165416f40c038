//! `mesh up --detach`: leaves a process behind that is up, and comes back once everything is applied.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{UpArgs, absolute};
use crate::exit::{Exit, Failure};
use crate::planning::Read;
use crate::process::Folder;
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
            let LastWords { said, help } = LastWords::of(&folder.log_path(), begin);
            let hint = help.unwrap_or_else(|| format!("{} says more", folder.log_path().display()));
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

/// What it said at its end: what was wrong, and the way out.
#[derive(Debug, Default, PartialEq, Eq)]
struct LastWords {
    said: String,
    help: Option<String>,
}

impl LastWords {
    /// From where its log was when it was started.
    fn of(log: &Path, begin: u64) -> Self {
        let log = std::fs::read(log).unwrap_or_default();
        let since = usize::try_from(begin).ok().and_then(|begin| log.get(begin..)).unwrap_or_default();
        let since = String::from_utf8_lossy(since);
        since.rfind("error: ").map(|at| Self::read(&since[at..])).unwrap_or_default()
    }

    /// Reads what a failure looks like; its lines are broken for a terminal.
    fn read(text: &str) -> Self {
        let mut parts: Vec<String> = Vec::new();
        for line in text.lines() {
            match parts.last_mut() {
                Some(before) if line.starts_with(' ') => *before = format!("{before} {}", line.trim()),
                _ => parts.push(line.trim().to_owned()),
            }
        }
        let all = |prefix: &'static str| parts.iter().filter_map(move |part| part.strip_prefix(prefix));
        let said: Vec<&str> = all("error: ").chain(all("so: ")).collect();
        Self { said: format!(": {}", said.join("; so ")), help: all("help: ").next().map(str::to_owned) }
    }
}

fn ran_out(screen: &Screen, folder: &Folder) -> Exit {
    screen.warn(format!(
        "not everything is applied yet, and it goes on; `mesh status` says what waits, {} what went wrong",
        folder.log_path().display()
    ));
    Exit::RanOut
}

#[cfg(test)]
mod tests {
    //! What a failure says is read back as it was before it was broken into lines.

    use super::LastWords;

    #[test]
    fn what_went_wrong_and_the_way_out() {
        let text = "error: one that is\n       long\nso: it failed\nhelp: put it\n      back\n";
        let said = ": one that is long; so it failed".to_owned();
        assert_eq!(LastWords::read(text), LastWords { said, help: Some("put it back".to_owned()) });
    }
}

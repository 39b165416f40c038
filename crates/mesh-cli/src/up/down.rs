//! `mesh down`: stops what `mesh up --detach` started, and waits until nothing of it is left.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use thiserror::Error;

use crate::exit::{Exit, Failure};
use crate::process::{Folder, FolderError};
use crate::screen::Screen;

/// How long services and seats may take together.
const PATIENCE: Duration = Duration::from_secs(90);
const GLANCE: Duration = Duration::from_millis(50);

/// Stops the mesh of a state folder
#[derive(Debug, Clone, Args)]
pub(crate) struct DownArgs {
    /// The folder of the mesh description
    #[arg(default_value = ".", value_name = "DIR")]
    dir: PathBuf,
    /// The state folder [default: DIR/.mesh]
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
}

#[derive(Debug, Error)]
enum DownError {
    #[error("process {pid} could not be told to stop")]
    Signal { pid: i32, source: rustix::io::Errno },
    #[error("process {pid} is still stopping after {PATIENCE:?}")]
    Late { pid: i32 },
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        let hint = match &error {
            FolderError::Taken { .. } => "`mesh down` stops it, `mesh apply` hands it a changed description",
            FolderError::Use { .. } | FolderError::Keep(_) | FolderError::Leave(_) => {
                "`--state FOLDER` names another folder"
            }
        };
        Self::new(error).hint(hint)
    }
}

/// Stops it.
pub(crate) async fn run(args: DownArgs, screen: Screen) -> Result<Exit, Failure> {
    let state = args.state.unwrap_or_else(|| args.dir.join(".mesh"));
    let Some(folder) = Folder::open(&state) else {
        screen.say(format!("nothing runs in {}", state.display()));
        return Ok(Exit::Done);
    };
    let Some(pid) = folder.holder()? else {
        screen.say(format!("nothing runs in {}", state.display()));
        return Ok(Exit::Done);
    };
    let process = Pid::from_raw(pid).ok_or(DownError::Late { pid }).map_err(Failure::new)?;
    kill_process(process, Signal::TERM).map_err(|source| {
        Failure::new(DownError::Signal { pid, source }).hint("only who started it may stop it")
    })?;
    let begun = Instant::now();
    while folder.holder()?.is_some() {
        if begun.elapsed() > PATIENCE {
            let log = folder.log_path();
            return Err(Failure::new(DownError::Late { pid }).hint(format!("{} says more", log.display())));
        }
        tokio::time::sleep(GLANCE).await;
    }
    screen.say(format!("stopped; its data stays in {}", state.display()));
    Ok(Exit::Done)
}

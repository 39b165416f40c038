//! What long-running commands share: `mesh up`, `mesh server` and `mesh node`.
//!
//! A state folder that one process has at a time ([`Folder`]), parts that are heard of when they end ([`Tasks`]), and being
//! told to stop ([`told_to_stop`]).

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::exit::{Exit, Failure};

mod folder;
pub(crate) mod local;
mod tasks;

pub(crate) use folder::{Folder, FolderError};
pub(crate) use tasks::{Ended, Tasks};

/// The way out where a file of the state folder is damaged or gone.
pub(crate) const PUT_BACK: &str =
    "put the file back from a copy of the state folder, or begin with an empty --state";

/// A file of the state folder that cannot be used, with the way out.
pub(crate) fn state_fault(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    let mut hint = PUT_BACK;
    while let Some(error) = cause {
        match error.downcast_ref::<std::io::Error>().map(std::io::Error::kind) {
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
                hint = "make room on that disk, and start again: nothing is lost";
            }
            Some(ErrorKind::PermissionDenied) => {
                hint = "it belongs to another user: start as that user, or name another folder by --state";
            }
            _ => {}
        }
        cause = error.source();
    }
    Failure::new(error).hint(hint)
}

/// What the process was given by whoever started it.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    /// This program.
    pub(crate) program: PathBuf,
    /// Its `MESH_NATS_SERVER`, where that says anything.
    pub(crate) nats_server: Option<PathBuf>,
    /// Its `PATH`.
    pub(crate) path: Option<OsString>,
    /// Its `TZ`.
    pub(crate) time_zone: Option<String>,
    /// What goes to the log: its `MESH_LOG`, or what usually does.
    pub(crate) log: String,
}

/// What of all that is traced goes to a log.
pub(crate) fn filter(asked: &str) -> EnvFilter {
    EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).parse_lossy(asked)
}

/// From now on, what is traced goes to standard error: a service's log is kept by what runs it.
pub(crate) fn log_to_stderr(asked: &str) {
    let kept = tracing_subscriber::fmt()
        .with_env_filter(filter(asked))
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
    // It fails where this process keeps one already.
    drop(kept);
}

/// Waits for Ctrl-C, or for SIGTERM.
pub(crate) async fn told_to_stop() -> Result<Exit, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::new)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::new)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(Exit::Done)
}

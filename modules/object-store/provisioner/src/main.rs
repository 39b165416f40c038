//! Makes one SeaweedFS accept exactly what its consumers file says.
//!
//! Reading order: [`desire`] (what is wanted), [`plan`] (the steps to it), [`apply`] (the steps done, each key proved),
//! [`world`] (SeaweedFS itself: who may come in by its gRPC, buckets by S3). [`name`] has the rules that these go by, and
//! [`home`] what the server needs before its first start. The loop, the two files and the poll are `mesh-provider`'s.
//! It never deletes a bucket, and never touches what it did not make.

mod apply;
mod desire;
mod home;
mod name;
mod plan;
mod server;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use mesh_provider::{Job, reconcile};
use tokio::signal::unix::{SignalKind, signal};

use crate::apply::Reached;
use crate::server::ObjectStore;
use crate::world::Address;

/// Makes one SeaweedFS accept exactly what a consumers file says, and answers in another file.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Provision(Provision),
    Prepare(Prepare),
}

/// Make the server accept exactly what the consumers file says
///
/// Exits with 0 where every consumer is accepted, 1 where one is not, 2 for wrong usage.
#[derive(Debug, Args)]
struct Provision {
    /// The consumers file, as `${consumers.… | json}` renders it
    #[arg(long, value_name = "FILE")]
    consumers: PathBuf,
    /// Where to write the answers
    #[arg(long, value_name = "FILE")]
    answers: PathBuf,
    /// The URL at which consumers reach the store
    #[arg(long, value_name = "URL")]
    endpoint: String,
    /// The region that consumers are told
    #[arg(long, value_name = "NAME", default_value = "us-east-1")]
    region: String,
    /// The URL at which this program reaches the store
    #[arg(long, value_name = "URL")]
    s3: String,
    /// Where the filer's gRPC listens
    #[arg(long, value_name = "HOST:PORT")]
    filer: String,
    /// The administrator's access key
    #[arg(long, value_name = "KEY")]
    admin: String,
    /// The file that holds the administrator's secret key
    #[arg(long, value_name = "FILE")]
    admin_secret_file: PathBuf,
    /// The file that holds the key by which the filer knows who may change who comes in
    #[arg(long, value_name = "FILE")]
    filer_key_file: PathBuf,
    /// The home that `prepare` made, with the certificates by which the parts of the server know each other
    #[arg(long, value_name = "FOLDER")]
    home: PathBuf,
    /// Go on for ever: again whenever the file changes, and every 60 s
    #[arg(long)]
    watch: bool,
}

/// Make the home of a SeaweedFS: certificates for its parts, and the configuration where it looks for it
#[derive(Debug, Args)]
struct Prepare {
    /// The home to make; what is there is kept
    #[arg(long, value_name = "FOLDER")]
    home: PathBuf,
    /// The configuration file, which the home will lead to
    #[arg(long, value_name = "FILE")]
    security: PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .init();
    match arguments.command {
        Command::Prepare(prepare) => match home::prepare(&prepare.home, &prepare.security) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        },
        Command::Provision(provision) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("the system gives a timer and a poller").block_on(run(provision))
        }
    }
}

fn failed(error: &(dyn std::error::Error + 'static)) -> ExitCode {
    tracing::error!("{}", reconcile::chain(error));
    ExitCode::FAILURE
}

async fn run(arguments: Provision) -> ExitCode {
    let address = Address {
        s3: arguments.s3,
        region: arguments.region.clone(),
        filer: arguments.filer,
        admin: arguments.admin,
        admin_secret_file: arguments.admin_secret_file,
        filer_key_file: arguments.filer_key_file,
        home: arguments.home,
    };
    let reached = Reached { endpoint: arguments.endpoint, region: arguments.region };
    let mut server = ObjectStore::new(address, reached);
    let job = Job::new(arguments.consumers, arguments.answers);
    if arguments.watch {
        reconcile::watch(&mut server, &job, asked_to_stop()).await;
        return ExitCode::SUCCESS;
    }
    match reconcile::once(&mut server, &job).await {
        Ok(verdict) if verdict.failed == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => failed(&error),
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

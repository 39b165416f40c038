//! The one program: arguments, words, exit codes; no decisions.
//!
//! Each command is a file of [`commands`]. What they share, in reading order: [`arguments`] (which commands there are),
//! [`screen`] and [`table`] (where words go, and how they stand), [`exit`] (how a command ends), [`reach`] (where the bus
//! is), [`planning`] and [`upload`] (a description, planned and handed over), [`escrow`] (who could open what),
//! [`provisioning`], [`look`] and [`status`] (how the mesh stands), [`wait`] and [`progress`] (until it stands well). What runs
//! long: [`process`] (what such commands share), [`plane`] (the control plane), [`machine`] (a node); [`up`] is both in one.

mod age;
mod arguments;
mod commands;
mod escrow;
mod exit;
mod look;
mod machine;
mod plane;
mod planning;
mod process;
mod progress;
mod provisioning;
mod reach;
mod rotation;
mod screen;
mod status;
mod table;
mod up;
mod upload;
mod vault;
mod wait;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use mesh_model::wire::What;

use crate::arguments::{Arguments, Command};
use crate::exit::{Exit, Failure};
use crate::screen::Screen;

fn main() -> ExitCode {
    if let Some(ended) = beside() {
        return ended;
    }
    let Arguments { command } = Arguments::parse();
    let screen = Screen::of_process();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return screen.end(Err(Failure::new(error))),
    };
    let ended = runtime.block_on(run(command, &screen));
    // A read of standard input may never end, and nobody waits for it any more.
    runtime.shutdown_background();
    screen.end(ended)
}

/// What this program is to itself: it stands between `mesh up` and what that starts. Before anything else, since there must
/// be no runtime yet, and since nothing of these arguments is for people.
fn beside() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let stage = arguments.next()?;
    match stage.to_str()? {
        "shim" => Some(mesh_node::shim::main(&arguments.collect::<Vec<OsString>>())),
        "launch" => Some(mesh_bus::server::launch(&arguments.collect::<Vec<OsString>>())),
        _ => None,
    }
}

/// What long-running commands hand on to what they start.
#[expect(clippy::disallowed_methods, reason = "this is the edge that reads the environment once")]
fn surroundings() -> Result<process::Surroundings, Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let time_zone = std::env::var("TZ").ok();
    let log = std::env::var("MESH_LOG").unwrap_or_default();
    let nats_server = std::env::var_os("MESH_NATS_SERVER").filter(|path| !path.is_empty()).map(Into::into);
    Ok(process::Surroundings { program, nats_server, path: std::env::var_os("PATH"), time_zone, log })
}

async fn run(command: Command, screen: &Screen) -> Result<Exit, Failure> {
    match command {
        Command::Up(args) => up::run(args, *screen, surroundings()?).await,
        Command::Server(args) => commands::server::run(args, *screen, surroundings()?).await,
        Command::Node(args) => commands::node::run(args, screen, surroundings()?).await,
        Command::Down(args) => up::down(args, *screen).await,
        Command::Check(args) => commands::check::run(args, screen),
        Command::Plan(args) => commands::plan::run(args, screen).await,
        Command::Apply(args) => commands::apply::run(args, screen).await,
        Command::Status(args) => commands::status::run(args, screen).await,
        Command::Provisioning(args) => commands::provisioning::run(args, screen).await,
        Command::Needs(args) => commands::provisioning::short(What::Needs, args, screen).await,
        Command::Applied(args) => commands::provisioning::short(What::Applied, args, screen).await,
        Command::Collect(args) => commands::provisioning::short(What::Collect, args, screen).await,
        Command::Registry(args) => commands::provisioning::short(What::Registry, args, screen).await,
        Command::Secret(args) => commands::secret::run(args, screen).await,
        Command::Logs(args) => commands::logs::run(args, screen).await,
        Command::Modules(args) => commands::modules::run(args, screen),
        Command::Graph(args) => commands::graph::run(&args, screen),
        Command::New(args) => commands::new::run(&args, screen),
        Command::Schema(args) => commands::schema::run(&args, screen),
        Command::Explain(args) => commands::explain::run(&args, screen),
        Command::Completions(args) => commands::completions::run(&args, screen),
    }
}

//! `mesh node`: the agent of one machine, and how the machine comes to its mesh.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::exit::{Exit, Failure};
use crate::process::Surroundings;
use crate::screen::Screen;

mod invite;
mod join;
mod run;

/// Where a node keeps everything, where nothing else is said.
pub(crate) const STATE: &str = "/var/lib/mesh/node";

/// Run this machine as a node of its mesh, or have one join
///
/// Without a word more it runs what the mesh assigns to this machine, until it is told to stop.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct NodeArgs {
    /// What to do instead.
    #[command(subcommand)]
    command: Option<NodeCommand>,
    #[command(flatten)]
    state: StateArgs,
}

/// Where the node is.
#[derive(Debug, Clone, Args)]
struct StateArgs {
    /// Where the node keeps everything
    #[arg(long, value_name = "FOLDER", default_value = STATE)]
    state: PathBuf,
}

#[derive(Debug, Clone, Subcommand)]
enum NodeCommand {
    /// Give a one-time token by which a machine can join as this node
    Invite(invite::InviteArgs),
    /// Join the mesh that a token is for
    Join(join::JoinArgs),
}

pub(crate) async fn run(args: NodeArgs, screen: &Screen, around: Surroundings) -> Result<Exit, Failure> {
    match args.command {
        None => run::run(&args.state, screen, around).await,
        Some(NodeCommand::Invite(args)) => invite::run(args, screen).await,
        Some(NodeCommand::Join(args)) => join::run(args, screen).await,
    }
}

//! `mesh secret`: what the vault has (never what it says), what an operator supplies, and, on a node itself, what it says.

mod confirm;
mod escrow;
mod list;
mod prompt;
mod reveal;
pub(crate) mod rotate;
mod set;

use clap::{Args, Subcommand};

use crate::exit::{Exit, Failure};
use crate::screen::Screen;

/// What is done about secrets.
#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List what the vault has and what it waits for; never what a secret says
    List(list::ListArgs),
    /// Supply a secret that a manifest declares with `supplied: true`
    ///
    /// The value is asked for without an echo, or read from standard input where that is no terminal; one line break
    /// at its end is left out. It is sealed here, to each node that the module runs on, and can be read there alone.
    Set(set::SetArgs),
    /// Replace a credential while whoever uses it goes on working
    ///
    /// The vault makes a second one beside the first; each consumer takes it up and restarts by its own policy, one after
    /// the other; then the first ends. Both are good in between. Where a consumer is not well with the new one, the
    /// rotation stops and says so: nothing that worked stops working.
    Rotate(rotate::RotateArgs),
    /// Confirm a recipient of escrow, on the server's machine
    ///
    /// Nothing is sealed to a recipient that only mesh.yaml names. This signs in with the keys in the server's state folder.
    ConfirmEscrow(confirm::ConfirmArgs),
    /// Hand over all that is sealed to the recipients of escrow, as an archive
    ///
    /// `mesh secret escrow > escrow.tar`: an age file for each secret, which whoever has a recipient's key opens with plain
    /// `age -d -i key.txt FILE`, without a mesh. Keep one elsewhere, and make it anew when secrets are.
    Escrow(escrow::EscrowArgs),
    /// Print what a secret says, on the node that it is sealed to
    ///
    /// It is opened with the key of the node, which never leaves the node's state folder, so this works there alone.
    Reveal(reveal::RevealArgs),
}

/// Does it.
pub(crate) async fn run(args: SecretArgs, screen: &Screen) -> Result<Exit, Failure> {
    match args.command {
        Command::List(args) => list::run(args, screen).await,
        Command::ConfirmEscrow(args) => confirm::run(args, screen).await,
        Command::Escrow(args) => escrow::run(args, screen).await,
        Command::Set(args) => set::run(args, screen).await,
        Command::Rotate(args) => rotate::run(args, screen).await,
        Command::Reveal(args) => reveal::run(args, screen).await,
    }
}

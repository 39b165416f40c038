//! `mesh completions`: what a shell reads to complete our commands.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::arguments::Arguments;
use crate::exit::{Exit, Failure};
use crate::screen::Screen;

/// For which shell.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs, screen: &Screen) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut Arguments::command(), "mesh", &mut script);
    screen.print_bytes(&script)?;
    Ok(Exit::Done)
}

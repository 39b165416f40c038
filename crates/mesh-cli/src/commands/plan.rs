//! `mesh plan`: what a description would change; nothing is touched.

use std::path::PathBuf;

use clap::Args;
use mesh_plan::diff::Kind;
use mesh_plan::report::Report;

use crate::arguments::Format;
use crate::exit::{Exit, Failure};
use crate::planning::{InEffect, told};
use crate::reach::{BusArgs, ReachError};
use crate::screen::Screen;

/// Which description, against what.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The folder with mesh.yaml in it
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Compare with a plan of before, as `mesh plan --format json` printed it, and not with what is applied
    #[arg(long, value_name = "PLAN.json", conflicts_with_all = ["state", "bus", "creds"])]
    against: Option<PathBuf>,
    /// End with 5 where anything would change
    #[arg(long)]
    exit_code: bool,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    bus: BusArgs,
}

/// Shows what it would change: against what is applied, where there is a bus.
pub(crate) async fn run(args: PlanArgs, screen: &Screen) -> Result<Exit, Failure> {
    let read = in_effect(&args, screen).await?.plan(&args.dir)?;
    match args.format {
        Format::Json => screen.print_json(&Report::whole(&read.outcome, &read.changes))?,
        Format::Text => {
            read.accepted(screen)?;
            screen.print(told(&read.outcome, &read.changes, screen))?;
        }
    }
    let changes = read.changes.iter().any(|change| change.change != Kind::None);
    Ok(match read.outcome.plan.is_some() {
        false => Exit::Failed,
        true if changes && args.exit_code => Exit::WouldChange,
        true => Exit::Done,
    })
}

async fn in_effect(args: &PlanArgs, screen: &Screen) -> Result<InEffect, Failure> {
    if let Some(file) = &args.against {
        return Ok(InEffect::document(file)?);
    }
    if !args.bus.is_there(&args.dir) {
        return Ok(InEffect::default());
    }
    match args.bus.connect(&args.dir).await {
        Ok(bus) => InEffect::read(&bus, screen).await,
        Err(ReachError::Gone { state, .. }) => {
            let state = state.display();
            screen.warn(format!("nothing runs in {state} now: this is told as if nothing were applied"));
            Ok(InEffect::default())
        }
        Err(error) => Err(error.into()),
    }
}

//! `mesh plan`: what a description would change; nothing is touched.

use std::path::PathBuf;

use clap::Args;
use mesh_bus::Bus;
use mesh_plan::diff::Kind;
use mesh_plan::report::Report;

use crate::arguments::Format;
use crate::escrow;
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
    let (in_effect, bus) = in_effect(&args, screen).await?;
    let read = in_effect.plan(&args.dir)?;
    let escrow = escrow::of(&read, bus.as_ref(), screen).await;
    match args.format {
        Format::Json => {
            screen.print_json(&Report::whole(&read.outcome, &read.changes).with_escrow(&escrow))?
        }
        Format::Text => {
            read.accepted(screen)?;
            screen.print(told(&read.outcome, &read.changes, screen))?;
            escrow::lines(&escrow).iter().try_for_each(|line| screen.print(format!("{line}\n")))?;
        }
    }
    let changes = read.changes.iter().any(|change| change.change != Kind::None);
    Ok(match read.outcome.plan.is_some() {
        false => Exit::Failed,
        true if changes && args.exit_code => Exit::WouldChange,
        true => Exit::Done,
    })
}

/// What is in effect, and the bus that told it.
async fn in_effect(args: &PlanArgs, screen: &Screen) -> Result<(InEffect, Option<Bus>), Failure> {
    if let Some(file) = &args.against {
        return Ok((InEffect::document(file)?, None));
    }
    if !args.bus.is_there(&args.dir) {
        return Ok((InEffect::default(), None));
    }
    match args.bus.connect(&args.dir).await {
        Ok(bus) => Ok((InEffect::read(&bus, screen).await?, Some(bus))),
        Err(ReachError::Gone { state, .. }) => {
            let state = state.display();
            screen.warn(format!("nothing runs in {state} now: this is told as if nothing were applied"));
            Ok((InEffect::default(), None))
        }
        Err(error) => Err(error.into()),
    }
}

//! `mesh check`: whether a description could work, and everything in it that could not. It needs no bus.

use std::path::PathBuf;

use clap::Args;
use mesh_plan::Outcome;
use mesh_plan::report::Report;

use crate::arguments::Format;
use crate::exit::{Exit, Failure};
use crate::planning::InEffect;
use crate::screen::Screen;

/// Which description.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The folder with mesh.yaml in it
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Refuses or accepts it.
pub(crate) fn run(args: CheckArgs, screen: &Screen) -> Result<Exit, Failure> {
    let read = InEffect::default().plan(&args.dir)?;
    if args.format == Format::Json {
        screen.print_json(&Report::of(&read.outcome, &[]))?;
        return Ok(if read.outcome.plan.is_some() { Exit::Done } else { Exit::Failed });
    }
    read.accepted(screen)?;
    screen.print(accepted(&read.outcome))?;
    Ok(Exit::Done)
}

fn accepted(outcome: &Outcome) -> String {
    let Some(plan) = &outcome.plan else { return String::new() };
    let (assigned, nodes) = (plan.assignments.len(), plan.nodes.len());
    let many = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    format!("{} is in order: {} on {}\n", plan.mesh, many(assigned, "module"), many(nodes, "node"))
}

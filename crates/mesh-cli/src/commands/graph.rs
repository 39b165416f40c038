//! `mesh graph`: who needs what from whom, in the words of several programs; what is refused is in it, and marked.

mod dot;
mod mermaid;
mod svg;
mod text;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mesh_cli::description::load;
use mesh_plan::{Facts, Graph, plan, shipped};
use thiserror::Error;

use crate::exit::{Exit, Failure};
use crate::screen::Screen;

/// The most that is laid out here: a larger picture takes long, and nobody can read it.
const MOST: usize = 300;

/// Which description, and how.
#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// The folder with mesh.yaml in it
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// How it is drawn
    #[arg(long, value_enum, default_value_t)]
    format: Drawing,
}

/// How it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Drawing {
    #[default]
    Text,
    Dot,
    Mermaid,
    Svg,
}

/// Why it is not drawn.
#[derive(Debug, Error)]
enum GraphError {
    #[error("mesh.yaml cannot be read, so there is nothing to draw")]
    Unread,
    #[error("{parts} modules and needs are too many for one picture: {MOST} are the most")]
    TooMany { parts: usize },
}

/// Draws it on standard output; what is refused is counted on standard error.
pub(crate) fn run(args: &GraphArgs, screen: &Screen) -> Result<Exit, Failure> {
    let catalog = shipped();
    let description = load(&args.dir, &catalog)?;
    let outcome = plan(&description, &catalog, None, &Facts::default());
    let graph = Graph::of(&description, &catalog, &outcome.refusals);
    let graph = graph.ok_or_else(|| Failure::new(GraphError::Unread).hint("`mesh check` says why"))?;
    let parts = graph.modules.len() + graph.modules.values().map(Vec::len).sum::<usize>();
    if args.format == Drawing::Svg && parts > MOST {
        let error = GraphError::TooMany { parts };
        return Err(Failure::new(error).hint("`--format dot` is for programs that draw large graphs"));
    }
    screen.print(match args.format {
        Drawing::Text => text::drawn(&graph, screen),
        Drawing::Dot => dot::drawn(&graph),
        Drawing::Mermaid => mermaid::drawn(&graph),
        Drawing::Svg => svg::drawn(&graph),
    })?;
    match outcome.refusals.len() {
        0 => {}
        1 => screen.warn("1 thing in it is refused: `mesh check` says what"),
        many => screen.warn(format!("{many} things in it are refused: `mesh check` says which")),
    }
    Ok(Exit::Done)
}

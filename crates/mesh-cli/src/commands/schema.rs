//! `mesh schema`: what editors check the two kinds of file with.

use clap::{Args, ValueEnum};
use mesh_plan::schema;
use serde_json::Value;

use crate::exit::{Exit, Failure};
use crate::screen::Screen;

/// Of which kind of file.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Of a manifest, or of mesh.yaml
    #[arg(value_enum, default_value_t = File::Module)]
    file: File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum File {
    Module,
    Mesh,
}

impl File {
    pub(super) fn schema(self) -> Value {
        match self {
            Self::Module => schema::manifest(),
            Self::Mesh => schema::mesh(),
        }
    }
}

/// Prints it.
pub(crate) fn run(args: &SchemaArgs, screen: &Screen) -> Result<Exit, Failure> {
    screen.print_json(&args.file.schema())?;
    Ok(Exit::Done)
}

//! `mesh modules`: those that ship with mesh, and the manifest of one to start from.

use clap::{Args, Subcommand};
use mesh_model::name::ModuleName;
use mesh_plan::yaml::{self, Value};
use mesh_plan::{Catalog, shipped};
use serde::Serialize;
use thiserror::Error;

use crate::arguments::Format;
use crate::exit::{Exit, Failure};
use crate::screen::{Screen, Tone};
use crate::table::{Cell, Table};

/// What is shown of the shipped modules.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ModulesArgs {
    /// How the list is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print a module's manifest
    Show {
        /// The module
        name: ModuleName,
    },
}

/// A module of the list.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    module: &'a ModuleName,
    summary: String,
}

#[derive(Debug, Error)]
#[error("no module `{name}` ships with mesh")]
struct Unknown {
    name: ModuleName,
}

/// Lists them, or prints one.
pub(crate) fn run(args: ModulesArgs, screen: &Screen) -> Result<Exit, Failure> {
    let catalog = shipped();
    match args.command {
        Some(Command::Show { name }) => show(&catalog, name, screen)?,
        None => list(&catalog, args.format, screen)?,
    }
    Ok(Exit::Done)
}

fn show(catalog: &Catalog, name: ModuleName, screen: &Screen) -> Result<(), Failure> {
    match manifest(catalog, &name) {
        Some(manifest) => screen.print_bytes(manifest),
        None => {
            let known: Vec<&str> = catalog.modules.keys().map(ModuleName::as_str).collect();
            Err(Failure::new(Unknown { name }).hint(format!("there is: {}", known.join(", "))))
        }
    }
}

fn list(catalog: &Catalog, format: Format, screen: &Screen) -> Result<(), Failure> {
    let summary = |module| manifest(catalog, module).and_then(summary).unwrap_or_default();
    let modules: Vec<Listed<'_>> =
        catalog.modules.keys().map(|module| Listed { module, summary: summary(module) }).collect();
    if format == Format::Json {
        return screen.print_json(&serde_json::json!({ "modules": modules }));
    }
    let mut table = Table::new(["MODULE", "WHAT IT IS"]);
    for Listed { module, summary } in modules {
        table.row([Cell::toned(module.as_str(), Tone::Strong), summary.into()]);
    }
    screen.print(table.drawn(screen))
}

fn manifest<'a>(catalog: &'a Catalog, name: &ModuleName) -> Option<&'a [u8]> {
    catalog.modules.get(name)?.get("module.yaml").map(Vec::as_slice)
}

fn summary(manifest: &[u8]) -> Option<String> {
    let tree = yaml::parse(std::str::from_utf8(manifest).ok()?);
    let Value::Map(entries) = tree.root?.value else { return None };
    match entries.into_iter().find(|entry| entry.key == "summary")?.value.value {
        Value::Scalar(scalar) => Some(scalar.text),
        _ => None,
    }
}

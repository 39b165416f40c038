//! `mesh secret list`: what there is, under which name, for whom; nothing of what a secret says.

use std::path::Path;

use clap::Args;
use mesh_model::name::{ModuleName, NodeName};
use mesh_model::wire::{ListAnswer, RotationTold, V1, VaultEntry, VaultOrigin, VaultState};
use mesh_seal::Recipient;

use crate::arguments::Format;
use crate::exit::{Exit, Failure};
use crate::reach::BusArgs;
use crate::rotation::{is_over, lines};
use crate::screen::{Screen, Tone};
use crate::table::{Cell, Table};
use crate::vault;

/// How the list is narrowed.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// What concerns this node alone
    #[arg(long)]
    node: Option<NodeName>,
    /// What concerns this module alone
    #[arg(long)]
    module: Option<ModuleName>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: ListArgs, screen: &Screen) -> Result<Exit, Failure> {
    let bus = args.bus.connect(Path::new("")).await?;
    let (mut entries, mut rotations) = vault::all(&bus).await?;
    entries.retain(|entry| {
        args.node.as_ref().is_none_or(|node| *node == entry.node)
            && args.module.as_ref().is_none_or(|module| *module == entry.module)
    });
    rotations.retain(|told| {
        args.node.as_ref().is_none_or(|node| concerns(told, node))
            && args.module.as_ref().is_none_or(|module| *module == told.module)
    });
    match args.format {
        Format::Json => screen.print_json(&ListAnswer { v: V1, entries, rotations, next: None })?,
        Format::Text if entries.is_empty() => screen.say("there is nothing"),
        Format::Text => {
            let mut text = table(&entries, &rotations).drawn(screen);
            for line in rotations.iter().filter(|told| !is_over(told)).flat_map(lines) {
                text.push_str(&format!("\n{line}"));
            }
            screen.print(text.trim_end_matches('\n').to_owned() + "\n")?;
        }
    }
    Ok(Exit::Done)
}

fn table(entries: &[VaultEntry<Recipient>], rotations: &[RotationTold]) -> Table {
    let mut table = Table::new(["NODE", "MODULE", "NAME", "MADE BY", "STATE", "SEALED TO"]);
    for entry in entries {
        let origin = match (entry.origin, &entry.provider) {
            (VaultOrigin::Supplied, _) => "an operator".to_owned(),
            (VaultOrigin::Credential, Some(provider)) => {
                format!("vault, for {}@{}", provider.module, provider.node)
            }
            _ => "vault".to_owned(),
        };
        let mut recipients: Vec<&str> = entry.recipients.keys().map(NodeName::as_str).collect();
        if !entry.escrow.is_empty() {
            recipients.push("escrow");
        }
        table.row([
            (&entry.node).into(),
            (&entry.module).into(),
            (&entry.name).into(),
            origin.into(),
            match rotations.iter().any(|told| is_between(told, entry)) {
                true => Cell::toned("rotating", Tone::Waiting),
                false => state(entry.state),
            },
            recipients.join(", ").into(),
        ]);
        if let Some(why) = &entry.why {
            table.note(why);
        }
    }
    table
}

fn is_between(told: &RotationTold, entry: &VaultEntry<Recipient>) -> bool {
    told.module == entry.module
        && told.name.to_string() == entry.name
        && told.between.iter().any(|one| one.node == entry.node)
}

fn concerns(told: &RotationTold, node: &NodeName) -> bool {
    told.remaining.contains(node)
        || told.done.contains(node)
        || told.between.iter().any(|one| one.node == *node)
}

fn state(state: VaultState) -> Cell {
    match state {
        VaultState::Live => Cell::toned("live", Tone::Good),
        VaultState::Waiting => Cell::toned("waiting", Tone::Waiting),
        VaultState::Unwanted => Cell::toned("unwanted", Tone::Quiet),
    }
}

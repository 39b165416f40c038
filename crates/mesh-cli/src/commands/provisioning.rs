//! `mesh provisioning`, and `mesh needs`, `applied`, `collect`, `registry` for short: what the verb of that name answers.

use std::path::Path;

use clap::Args;
use mesh_model::name::{CollectionName, ModuleName, NodeName};
use mesh_model::wire::{
    Applied, AppliedState, Collect, Contribution, Misshapen, NeedRecord, NeedState, ProvisioningAnswer,
    ProvisioningAsk, Registration, Service, ServiceState, Source, What,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::age::age;
use crate::arguments::Format;
use crate::exit::{Exit, Failure};
use crate::provisioning;
use crate::reach::BusArgs;
use crate::screen::{Screen, Tone};
use crate::status::reasons;
use crate::table::{Cell, Table};

/// What is asked for, and how it is narrowed.
#[derive(Debug, Args)]
pub(crate) struct ProvisioningArgs {
    /// registry, needs, applied or collect
    #[arg(default_value_t = What::Registry)]
    what: What,
    #[command(flatten)]
    narrowed: Narrowed,
}

/// How the answer is narrowed.
#[derive(Debug, Args)]
pub(crate) struct Narrowed {
    /// What concerns this node alone
    #[arg(long)]
    node: Option<NodeName>,
    /// What concerns this module alone; of `collect`, what it contributed
    #[arg(long)]
    module: Option<ModuleName>,
    /// This collection alone; goes with `collect`
    #[arg(long)]
    collection: Option<CollectionName>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    bus: BusArgs,
}

/// Asks for what is named.
pub(crate) async fn run(args: ProvisioningArgs, screen: &Screen) -> Result<Exit, Failure> {
    short(args.what, args.narrowed, screen).await
}

/// Asks for one of them.
pub(crate) async fn short(what: What, args: Narrowed, screen: &Screen) -> Result<Exit, Failure> {
    let Narrowed { node, module, collection, format, bus } = args;
    let bus = bus.connect(Path::new("")).await?;
    let question = ProvisioningAsk { what, node, module, collection, ..ProvisioningAsk::default() };
    let answer = provisioning::whole(&bus, question).await?;
    match format {
        Format::Json => screen.print_json(&answer)?,
        Format::Text => tell(&answer, screen)?,
    }
    Ok(Exit::Done)
}

fn tell(answer: &ProvisioningAnswer, screen: &Screen) -> Result<(), Failure> {
    let (table, unread) = match answer.what {
        What::Registry => table(answer, ["KIND", "OWNER", "WHERE"], registration),
        What::Needs => table(answer, ["NODE", "MODULE", "KIND", "NAME", "FROM", "STATE", "FOR"], need),
        What::Applied => table(answer, ["NODE", "MODULE", "STATE", "FOR", "SERVICES"], applied),
        What::Collect => table(answer, ["NODE", "COLLECTION", "CONTRIBUTOR", "ITEMS"], collect),
    };
    match answer.entries.len() > unread {
        true => screen.print(table.drawn(screen))?,
        false => screen.say("there is nothing"),
    }
    if unread > 0 {
        screen.warn(format!(
            "{unread} of the entries cannot be read by this program: `--format json` shows them"
        ));
    }
    for Misshapen { bucket, key, why } in &answer.misshapen {
        screen.warn(format!("{key} of {bucket} is out of shape: {why}"));
    }
    Ok(())
}

/// A table of the entries, and how many of them could not be read.
fn table<T: DeserializeOwned, const N: usize>(
    answer: &ProvisioningAnswer,
    head: [&str; N],
    add: impl Fn(&mut Table, &T),
) -> (Table, usize) {
    let mut table = Table::new(head);
    let mut unread = 0;
    for entry in &answer.entries {
        match T::deserialize(entry) {
            Ok(entry) => add(&mut table, &entry),
            Err(_) => unread += 1,
        }
    }
    (table, unread)
}

fn registration(table: &mut Table, entry: &Registration) {
    let place = match &entry.source {
        Source::Bucket { bucket, key, field } => format!("{field} of {key} in {bucket}"),
        Source::Verb { verb } => format!("the verb {verb}"),
    };
    table.row([Cell::toned(entry.kind.as_str(), Tone::Strong), (&entry.owner).into(), place.into()]);
}

fn need(table: &mut Table, entry: &NeedRecord) {
    let from = match &entry.from {
        Some(node) => format!("{}@{node}", entry.owner),
        None => entry.owner.clone(),
    };
    let state = match entry.state {
        NeedState::Met => Cell::toned("met", Tone::Good),
        NeedState::Waiting => Cell::toned("waiting", Tone::Waiting),
    };
    let (node, module, kind) = (&entry.node, &entry.module, entry.kind.as_str());
    let name = (&entry.name).into();
    table.row([node.into(), module.into(), kind.into(), name, from.into(), state, age(entry.since).into()]);
    if let Some(why) = &entry.why {
        table.note(why);
    }
}

fn applied(table: &mut Table, entry: &Applied) {
    let services: Vec<String> =
        entry.services.iter().map(|(name, service)| format!("{name} {}", doing(service))).collect();
    let (node, module) = ((&entry.node).into(), (&entry.module).into());
    table.row([node, module, state(entry.state), age(entry.at).into(), services.join(", ").into()]);
    let reasons = reasons(&entry.waiting_for, entry.why.as_ref(), &entry.services);
    reasons.into_iter().for_each(|reason| table.note(reason));
}

fn collect(table: &mut Table, entry: &Collect) {
    let items = format!("{}", entry.items.len());
    table.row([(&entry.node).into(), (&entry.collection).into(), (&entry.contributor).into(), items.into()]);
    for item in &entry.items {
        table.note(told(item));
    }
}

/// An item for people: a text as it is, a contribution by whom it is for.
fn told(item: &Value) -> String {
    if let Value::String(text) = item {
        return text.clone();
    }
    match Contribution::deserialize(item) {
        Ok(Contribution { local, provider, contribution, .. }) => {
            let fields: Vec<String> =
                contribution.iter().map(|(field, value)| format!("{field} = {value}")).collect();
            format!("{local} of {}@{}: {}", provider.module, provider.node, fields.join(", "))
        }
        Err(_) => item.to_string(),
    }
}

/// A module's state, in its colour.
pub(crate) fn state(state: AppliedState) -> Cell {
    match state {
        AppliedState::Applied => Cell::toned("applied", Tone::Good),
        AppliedState::Waiting => Cell::toned("waiting", Tone::Waiting),
        AppliedState::Failed => Cell::toned("failed", Tone::Bad),
        AppliedState::Withdrawn => Cell::toned("withdrawn", Tone::Waiting),
    }
}

/// What a service is doing, and how often it was started again.
pub(crate) fn doing(service: &Service) -> String {
    let state = match service.state {
        ServiceState::Running => "running",
        ServiceState::Starting => "starting",
        ServiceState::Unhealthy => "unhealthy",
        ServiceState::Stopped => "stopped",
        ServiceState::Failed => "failed",
    };
    match service.restarts {
        0 => state.to_owned(),
        1 => format!("{state} (restarted once)"),
        times => format!("{state} (restarted {times} times)"),
    }
}

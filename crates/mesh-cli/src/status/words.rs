//! How the mesh stands, for people: a row a module, why it is not applied below it.

use crate::age::age;
use crate::commands::provisioning::doing;
use crate::rotation::lines;
use crate::screen::{Screen, Tone};
use crate::status::{ModuleStatus, NodeStatus, State, Status};
use crate::table::{Cell, Table};

impl Status {
    /// The whole for people, as it is printed on standard output.
    pub(crate) fn table(&self, screen: &Screen) -> String {
        text(self, screen)
    }
}

fn text(status: &Status, screen: &Screen) -> String {
    let mut text = match &status.plan {
        Some(plan) => format!("plan {}, applied by {} {} ago\n\n", plan.id.short(), plan.by, age(plan.at)),
        None => "nothing is applied yet: `mesh apply DIR`\n".to_owned(),
    };
    if let Some(why) = &status.why {
        text.push_str(&format!("{}: {why}\n\n", screen.on_out(Tone::Waiting, "waiting")));
    }
    if !status.nodes.is_empty() {
        text.push_str(&table(status).drawn(screen));
    }
    match &status.rotations {
        Some(rotations) => {
            rotations.iter().flat_map(lines).for_each(|line| text.push_str(&format!("\n{line}\n")))
        }
        None => text.push_str("\nthe vault does not answer: what is being rotated is not known\n"),
    }
    text
}

fn table(status: &Status) -> Table {
    let mut table = Table::new(["NODE", "MODULE", "STATE", "FOR", "PORTS", "SERVICES"]);
    for node in &status.nodes {
        if node.modules.is_empty() {
            table.row([(&node.node).into(), "-".into(), idle(node), "".into(), "".into(), "".into()]);
        }
        node.modules.iter().for_each(|module| row(&mut table, node, module));
    }
    table
}

fn row(table: &mut Table, node: &NodeStatus, module: &ModuleStatus) {
    let services: Vec<String> =
        module.services.iter().map(|(name, service)| format!("{name} {}", doing(service))).collect();
    let ports: Vec<String> = module.ports.iter().map(|(name, port)| format!("{name} {port}")).collect();
    let tone = match module.state {
        State::Applied => Tone::Good,
        State::Failed => Tone::Bad,
        State::Assigned | State::Waiting | State::Withdrawn => Tone::Waiting,
    };
    table.row([
        (&node.node).into(),
        (&module.module).into(),
        Cell::toned(module.state.as_str(), tone),
        module.at.map(age).unwrap_or_default().into(),
        ports.join(", ").into(),
        services.join(", ").into(),
    ]);
    module.reasons().into_iter().for_each(|reason| table.note(reason));
}

/// What is said of a node on which nothing runs.
fn idle(node: &NodeStatus) -> Cell {
    match (node.planned, node.joined) {
        (_, false) => Cell::toned("has not joined", Tone::Waiting),
        (false, true) => Cell::toned("in no plan", Tone::Quiet),
        (true, true) => Cell::toned("idle", Tone::Quiet),
    }
}

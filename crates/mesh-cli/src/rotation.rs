//! Rotations, as commands tell of them.

use mesh_bus::Bus;
use mesh_bus::verb::{AskError, ask};
use mesh_model::key::Entry;
use mesh_model::name::NodeName;
use mesh_model::wire::{ListAnswer, ListAsk, RotationState, RotationTold};
use mesh_seal::Recipient;

/// The last rotation of each name.
pub(crate) async fn rotations(bus: &Bus) -> Result<Vec<RotationTold>, AskError> {
    let question = ListAsk { rotations_only: true, ..ListAsk::default() };
    let answer: ListAnswer<Recipient> = ask(bus, "mesh-vault.list", &question).await?;
    Ok(answer.rotations)
}

/// Whether nothing comes of it any more.
pub(crate) fn is_over(told: &RotationTold) -> bool {
    matches!(told.state, RotationState::Done | RotationState::Abandoned)
}

/// What is rotated, as it is written on the command line.
pub(crate) fn name(told: &RotationTold) -> String {
    match &told.name {
        Entry::Need(local) => format!("{}.{local}", told.module),
        Entry::Own(secret) => format!("{}.{secret}", told.module),
    }
}

/// How it stands: a line of its own, and one for each consumer that is between two.
pub(crate) fn lines(told: &RotationTold) -> Vec<String> {
    let name = name(told);
    let all = told.done.len() + told.between.len() + told.remaining.len();
    let far = format!("{} of {all}", told.done.len());
    let head = match told.state {
        RotationState::Running => format!("rotating {name}: {far} done"),
        RotationState::Abandoning => format!("going back from the rotation of {name}"),
        RotationState::Stopped => {
            let at = told.at.as_ref().map(NodeName::as_str).unwrap_or_default();
            let why = told.why.as_deref().unwrap_or_default();
            format!(
                "the rotation of {name} has stopped at {at}, with {far} done: {why}; the old credential is good as before: \
                 `mesh secret rotate {name} --resume` goes on, `--abandon` gives it up"
            )
        }
        RotationState::Done => format!("{name} is rotated: {}", listed(told.done.iter())),
        RotationState::Abandoned => format!("the rotation of {name} was given up, with {far} done"),
    };
    let between = told.between.iter().map(|one| format!("{}@{}: {}", told.module, one.node, one.why));
    let held_up = told.why.iter().filter(|_| told.state == RotationState::Running).cloned();
    [head].into_iter().chain(held_up).chain(between).collect()
}

fn listed<'a>(nodes: impl Iterator<Item = &'a NodeName>) -> String {
    nodes.map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}

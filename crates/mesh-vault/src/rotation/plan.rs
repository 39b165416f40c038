//! Which step of a rotation is next. Pure: the same in, the same out, and one step at a time.
//!
//! Each guard is a function of its own, so that it can be read, and taken out by the model that shows what it is for
//! (`tests/model`).

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::name::NodeName;

use super::told::{Health, Told};
use super::{Direction, Offer, Rotation, State, Stopped, Turn};

/// What there is, as far as a rotation is concerned: of its name, on each node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Situation {
    /// Where there must be one.
    pub wanted: BTreeSet<NodeName>,
    /// The ids of the live ones.
    pub live: BTreeMap<NodeName, BTreeSet<String>>,
    /// What each consumer said last.
    pub told: BTreeMap<NodeName, Told>,
    /// What has been wrong for too long, and where.
    pub overdue: Option<Stopped>,
}

/// One step of a rotation: one commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// A second credential beside the first.
    Begin {
        /// Whose.
        node: NodeName,
        /// The id of the first.
        from: String,
    },
    /// The consumer is offered the one that it has taken up, alone.
    Narrow {
        /// Which.
        node: NodeName,
    },
    /// The one that it has left is no longer live.
    Retire {
        /// Whose.
        node: NodeName,
        /// The id of what it has left.
        id: String,
    },
    /// This one is no part of it any more: nobody wants it, or it was made anew for another reason.
    Leave {
        /// Which.
        node: NodeName,
    },
    /// Something has been wrong for too long.
    Stop(Stopped),
    /// Nothing is left to do.
    Finish,
}

/// The next step, or none: then something is waited for, or the rotation is over.
pub fn next(rotation: &Rotation, situation: &Situation) -> Option<Step> {
    if rotation.is_over() {
        return None;
    }
    if let Some(step) = leave(rotation, situation) {
        return Some(step);
    }
    if rotation.state != State::Running {
        return None;
    }
    onward(rotation, situation)
        .or_else(|| situation.overdue.clone().map(Step::Stop))
        .or_else(|| begin(rotation, situation))
        .or_else(|| finish(rotation))
}

/// A consumer that is no part of it any more. One that is between two is one for as long as both are live: what nobody
/// wants is dropped first.
fn leave(rotation: &Rotation, situation: &Situation) -> Option<Step> {
    let live = |node: &NodeName| situation.live.get(node);
    let is_as_left = |node: &NodeName, turn: &Turn| {
        live(node).is_some_and(|live| live.len() == 2 && live.contains(&turn.from) && live.contains(&turn.to))
    };
    let of_between =
        rotation.between.iter().find(|(node, turn)| !is_as_left(node, turn)).map(|(node, _)| node);
    let is_gone =
        |node: &&NodeName| !situation.wanted.contains(*node) || live(node).is_none_or(BTreeSet::is_empty);
    let node = of_between.or_else(|| rotation.remaining.iter().chain(&rotation.done).find(is_gone))?;
    Some(Step::Leave { node: node.clone() })
}

/// A consumer that is between two and has come on.
fn onward(rotation: &Rotation, situation: &Situation) -> Option<Step> {
    rotation.between.iter().find_map(|(node, turn)| {
        if !has_taken_up(turn, situation.told.get(node)?) {
            return None;
        }
        let node = node.clone();
        Some(match turn.offer {
            Offer::Both => Step::Narrow { node },
            Offer::One => Step::Retire { node, id: turn.from.clone() },
        })
    })
}

/// Whether a consumer says, of what it is offered now, that it is well with the one that it is to take up.
fn has_taken_up(turn: &Turn, told: &Told) -> bool {
    told.turn == Some(turn.number)
        && told.health == Health::Well
        && told.credential.as_deref() == Some(turn.to.as_str())
}

/// The next consumer, as soon as there is room, and while all that came before are well.
fn begin(rotation: &Rotation, situation: &Situation) -> Option<Step> {
    let node = match rotation.direction {
        Direction::Forward => rotation.remaining.first()?,
        Direction::Back => return None,
    };
    if !has_room(rotation) || !are_well(rotation, situation) {
        return None;
    }
    let live = situation.live.get(node)?;
    let from = only(live)?;
    Some(Step::Begin { node: node.clone(), from: from.clone() })
}

fn has_room(rotation: &Rotation) -> bool {
    rotation.between.len() < usize::from(rotation.terms.at_once.max(1))
}

fn are_well(rotation: &Rotation, situation: &Situation) -> bool {
    rotation.done.iter().all(|node| situation.told.get(node).is_some_and(|told| told.health == Health::Well))
}

/// The one that there is, where there is one alone.
fn only(live: &BTreeSet<String>) -> Option<&String> {
    let mut live = live.iter();
    live.next().filter(|_| live.next().is_none())
}

fn finish(rotation: &Rotation) -> Option<Step> {
    let nobody_is_left = rotation.remaining.is_empty() || rotation.direction == Direction::Back;
    (rotation.between.is_empty() && nobody_is_left).then_some(Step::Finish)
}

#[cfg(test)]
mod tests;

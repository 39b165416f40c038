//! What a consumer says of itself in `applied`, as far as a rotation is concerned; and a rotation, told to people.

use mesh_model::key::Entry;
use mesh_model::wire::{Applied, AppliedState, BetweenTold, RotationState, RotationTold};

use super::{Direction, Offer, Rotation, Situation, State, Turn};

/// What a consumer says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Told {
    /// The number of the offer that it answers to.
    pub turn: Option<u64>,
    /// The id of the credential that it runs with.
    pub credential: Option<String>,
    /// How it is.
    pub health: Health,
    /// Why its provider does not accept a newer one.
    pub refused: Option<String>,
}

/// How a consumer is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Health {
    /// Applied: everything of it is well.
    Well,
    /// It waits for something, or is on its way.
    Waiting(String),
    /// Something of it is not well.
    Failed(String),
}

impl Told {
    /// What a record says of one of the module's credentials.
    pub fn of(applied: &Applied, entry: &Entry) -> Self {
        Self {
            turn: applied.turns.get(entry).copied(),
            credential: applied.credentials.get(entry).cloned(),
            health: Health::of(applied),
            refused: applied.refused.get(entry).cloned(),
        }
    }
}

impl Health {
    fn of(applied: &Applied) -> Self {
        let waits = applied.waiting_for.iter().map(|one| one.why.as_str());
        let why: Vec<&str> = waits.chain(applied.why.as_deref()).collect();
        let why = why.join("; ");
        match applied.state {
            AppliedState::Applied => Self::Well,
            AppliedState::Failed => Self::Failed(why),
            AppliedState::Waiting | AppliedState::Withdrawn => Self::Waiting(why),
        }
    }
}

impl Rotation {
    /// It, told to people.
    pub fn told(&self, situation: &Situation) -> RotationTold {
        let between = self.between.iter().map(|(node, turn)| BetweenTold {
            node: node.clone(),
            from: turn.from.clone(),
            to: turn.to.clone(),
            why: waits_for(turn, situation.told.get(node)),
        });
        let (state, stopped) = match (&self.state, self.direction) {
            (State::Running, Direction::Forward) => (RotationState::Running, None),
            (State::Running, Direction::Back) => (RotationState::Abandoning, None),
            (State::Stopped(stopped), _) => (RotationState::Stopped, Some(stopped.clone())),
            (State::Over, Direction::Forward) => (RotationState::Done, None),
            (State::Over, Direction::Back) => (RotationState::Abandoned, None),
        };
        let unwell = || match self.is_over() {
            true => None,
            false => self.unwell(situation),
        };
        let (at, why) = match stopped {
            Some(stopped) => (Some(stopped.at), Some(stopped.why)),
            None => (None, unwell()),
        };
        RotationTold {
            id: self.id.clone(),
            module: self.name.module.clone(),
            name: self.name.entry.clone(),
            state,
            cause: self.cause.to_string(),
            at_once: self.terms.at_once,
            at,
            why,
            between: between.collect(),
            remaining: self.remaining.clone(),
            done: self.done.clone(),
        }
    }

    /// Who came before and is not well, so that the next waits.
    fn unwell(&self, situation: &Situation) -> Option<String> {
        let unwell = |node: &&mesh_model::name::NodeName| {
            situation.told.get(*node).is_none_or(|told| told.health != Health::Well)
        };
        let node = self.done.iter().find(unwell).filter(|_| !self.remaining.is_empty())?;
        let why = situation.told.get(node).map_or("nothing is told of it", |told| told.health.why());
        Some(format!("{}@{node}, which has the new one, is not well: {why}", self.name.module))
    }
}

impl Health {
    /// Why it is not well.
    pub fn why(&self) -> &str {
        match self {
            Self::Well => "",
            Self::Waiting(why) | Self::Failed(why) => why,
        }
    }
}

/// What is waited for of a consumer that is between two.
pub fn waits_for(turn: &Turn, told: Option<&Told>) -> String {
    let Some(told) = told else { return "its node has told nothing of it".to_owned() };
    if told.turn != Some(turn.number) {
        return match (&told.health, turn.offer) {
            (Health::Failed(why), _) => format!("it is failed: {why}"),
            (_, Offer::Both) => "its node has not taken up the new one yet".to_owned(),
            (_, Offer::One) => "its node has not confirmed yet that it leaves the old one".to_owned(),
        };
    }
    if let Some(why) = &told.refused {
        return format!("its provider does not accept the new one: {why}");
    }
    match &told.health {
        Health::Failed(why) => format!("it is failed: {why}"),
        Health::Waiting(why) if !why.is_empty() => format!("it waits: {why}"),
        Health::Waiting(_) => "it is on its way".to_owned(),
        Health::Well if told.credential.as_deref() == Some(turn.to.as_str()) => {
            "it runs with the new one".to_owned()
        }
        Health::Well => "its provider has not accepted the new one yet".to_owned(),
    }
}

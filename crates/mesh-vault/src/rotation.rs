//! Rotation: a credential is replaced while whoever uses it goes on working.
//!
//! For one consumer it goes like this, and each step is one commit:
//!
//! 1. *begun*: a second credential lies beside the first. The provider accepts both, proves the second, and the bound
//!    value turns to it; the consumer renders it, restarts by its own policy, and says in `applied` that it is well with it.
//! 2. *narrowed*: the consumer is offered the second alone, so that nothing can take it back to the first. It says in
//!    `applied` that it has seen that, and is still well.
//! 3. *retired*: the first is no longer live, and the provider no longer accepts it.
//!
//! What a consumer says counts when it answers to what it is offered now: each offer has a number, never given twice, and
//! `applied` names it. A message that is late says an older number.
//!
//! Given up, a rotation goes the same way back: `from` and `to` change places under a new number.
//!
//! Here are the data, and what each step makes of them. [`plan`] says which step is next (pure), [`watch`] how long
//! something may take, [`told`] reads what consumers say; `apply` makes and commits. Nothing here knows a secret.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use mesh_model::key::{CredentialKey, Entry, KeyError, decode_token, encode_token};
use mesh_model::name::{ModuleName, NodeName};
use serde::{Deserialize, Serialize};

pub mod plan;
pub mod told;
pub mod watch;

pub use plan::{Situation, Step};

/// Which credentials are rotated: those of one name, on every node that the module runs on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RotationName {
    /// The consumer, or the module that the secret belongs to.
    pub module: ModuleName,
    /// Which of its credentials.
    pub entry: Entry,
}

/// One rotation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rotation {
    /// Chosen by whoever asked for it.
    pub id: String,
    /// What is rotated.
    pub name: RotationName,
    /// Why.
    pub cause: Cause,
    /// What it may do.
    pub terms: Terms,
    /// Where it goes.
    pub direction: Direction,
    /// Whether it goes.
    pub state: State,
    /// Nodes whose consumer was not begun with.
    pub remaining: BTreeSet<NodeName>,
    /// Consumers that are between two.
    pub between: BTreeMap<NodeName, Turn>,
    /// Nodes whose consumer has the new one alone.
    pub done: BTreeSet<NodeName>,
}

/// Why a rotation came about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// An operator asked for it.
    Asked,
    /// The sealing key of this node has changed.
    KeyChanged(NodeName),
}

/// What a rotation may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Terms {
    /// How many consumers may be between two at once.
    pub at_once: u16,
    /// For so many seconds a consumer may be unwell, or its credential refused.
    pub patience: u32,
    /// For so many seconds nothing may come of a consumer.
    pub deadline: u32,
}

/// Where a rotation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To the new credentials.
    Forward,
    /// Given up: back to the former ones, for who is between two.
    Back,
}

/// Whether a rotation goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It does.
    Running,
    /// Something went wrong; an operator decides.
    Stopped(Stopped),
    /// It is over.
    Over,
}

/// Why a rotation has stopped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stopped {
    /// The consumer's node.
    pub at: NodeName,
    /// What is wrong there.
    pub why: String,
}

/// One consumer between two credentials.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Turn {
    /// Given once under a key, from the same count as its versions.
    pub number: u64,
    /// The id of the one that it leaves.
    pub from: String,
    /// The id of the one that it takes up.
    pub to: String,
    /// What it is offered.
    pub offer: Offer,
}

/// What a consumer is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offer {
    /// Both: which it uses, the provider's answer says.
    Both,
    /// The one that it takes up, alone.
    One,
}

/// What a step is given that has to be made first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    /// Higher than any number given under the key.
    pub number: u64,
    /// The id of the credential that was made, where one was.
    pub id: String,
}

impl Rotation {
    /// The key of a consumer's credentials.
    pub fn key(&self, node: &NodeName) -> CredentialKey {
        self.name.key(node)
    }

    /// What it is once a step is taken. `fresh` is what was made for it.
    #[must_use]
    pub fn after(&self, step: &Step, fresh: &Fresh) -> Self {
        let mut after = self.clone();
        match step {
            Step::Begin { node, from } => {
                after.remaining.remove(node);
                let Fresh { number, id } = fresh.clone();
                let turn = Turn { number, from: from.clone(), to: id, offer: Offer::Both };
                after.between.insert(node.clone(), turn);
            }
            Step::Narrow { node } => {
                if let Some(turn) = after.between.get_mut(node) {
                    (turn.offer, turn.number) = (Offer::One, fresh.number);
                }
            }
            Step::Retire { node, .. } => {
                after.between.remove(node);
                // One that went back is where it was before.
                match self.direction {
                    Direction::Forward => drop(after.done.insert(node.clone())),
                    Direction::Back => drop(after.remaining.insert(node.clone())),
                }
            }
            Step::Leave { node } => {
                after.remaining.remove(node);
                after.between.remove(node);
                after.done.remove(node);
            }
            Step::Stop(stopped) => after.state = State::Stopped(stopped.clone()),
            Step::Finish => after.state = State::Over,
        }
        after
    }

    /// It goes on where it has stopped.
    #[must_use]
    pub fn resumed(&self) -> Self {
        Self { state: State::Running, ..self.clone() }
    }

    /// It goes back: each consumer that is between two is offered both again, and the former one counts as the newest.
    /// `number` gives each a number that was never given under its key.
    #[must_use]
    pub fn abandoned(&self, number: impl Fn(&NodeName) -> u64) -> Self {
        let back = |(node, turn): (&NodeName, &Turn)| {
            let (from, to) = (turn.to.clone(), turn.from.clone());
            (node.clone(), Turn { number: number(node), from, to, offer: Offer::Both })
        };
        let between = match self.direction {
            Direction::Forward => self.between.iter().map(back).collect(),
            Direction::Back => self.between.clone(),
        };
        Self { between, direction: Direction::Back, state: State::Running, ..self.clone() }
    }

    /// Whether anything may still come of it.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }
}

impl RotationName {
    /// The key of the credentials on one node.
    pub fn key(&self, node: &NodeName) -> CredentialKey {
        CredentialKey { node: node.clone(), module: self.module.clone(), entry: self.entry.clone() }
    }

    /// The name that a key's credentials are rotated under.
    pub fn of(key: &CredentialKey) -> Self {
        Self { module: key.module.clone(), entry: key.entry.clone() }
    }
}

impl fmt::Display for RotationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.module, encode_token(&self.entry.to_string()))
    }
}

impl FromStr for RotationName {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let wrong = || KeyError::Token(text.to_owned());
        let (module, entry) = text.split_once('.').ok_or_else(wrong)?;
        Ok(Self { module: module.parse()?, entry: decode_token(entry)?.parse()? })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("an operator asked for it"),
            Self::KeyChanged(node) => write!(f, "the sealing key of {node} changed"),
        }
    }
}

#[cfg(test)]
mod tests;

//! The vault's part in rotations: takes the steps that are next, and does what operators ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::time::Instant;

use mesh_model::key::{CredentialKey, ModuleKey};
use mesh_model::name::NodeName;
use mesh_model::wire::{Applied, RotationTold};
use mesh_seal::{Recipient, SystemRandom};

use super::Vault;
use crate::apply::{MakeError, Rotates, rotate};
use crate::plan::{Kept, Pins, recipients};
use crate::rotation::plan::next;
use crate::rotation::told::Told;
use crate::rotation::watch::Watch;
use crate::rotation::{Cause, Direction, Rotation, RotationName, Situation, State, Step, Terms};
use crate::rules::Wanted;
use crate::store::{Change, StoreError};

/// What a module on a node says of itself, where it says anything.
pub type Consumers<'a> = dyn Fn(&ModuleKey) -> Option<Applied> + 'a;

/// A step that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turned {
    /// Of which rotation.
    pub name: RotationName,
    /// Which.
    pub step: Step,
}

/// Why a rotation is not begun, resumed or given up.
#[derive(Debug, thiserror::Error)]
pub enum NotRotated {
    /// There is none of that name that could go on or be given up.
    #[error("no rotation of it is under way")]
    None,
    /// Another one is under way.
    #[error("a rotation of it is under way already")]
    UnderWay(Box<RotationTold>),
    /// Nobody has one.
    #[error("there is no credential of that name yet")]
    Nothing,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a rotation is looked at with.
pub(super) struct Around<'a> {
    pub(super) wanted: &'a Wanted,
    pub(super) pins: &'a Pins,
    pub(super) escrow: &'a BTreeSet<Recipient>,
    pub(super) consumers: &'a Consumers<'a>,
    pub(super) now: Instant,
}

impl Around<'_> {
    fn situation(&self, name: &RotationName, kept: &Kept, rotation: &Rotation) -> Situation {
        let mut situation = Situation::default();
        let is_of_it = |key: &&CredentialKey| key.module == name.module && key.entry == name.entry;
        situation.wanted = self.wanted.entries.keys().filter(is_of_it).map(|key| key.node.clone()).collect();
        let nodes: BTreeSet<&NodeName> =
            rotation.remaining.iter().chain(rotation.between.keys()).chain(&rotation.done).collect();
        for node in nodes {
            if let Some(live) = kept.get(&name.key(node)) {
                let ids = live.iter().map(|one| one.id.clone()).collect();
                situation.live.insert(node.clone(), ids);
            }
            let module = ModuleKey { node: node.clone(), module: name.module.clone() };
            if let Some(applied) = (self.consumers)(&module) {
                situation.told.insert(node.clone(), Told::of(&applied, &name.entry));
            }
        }
        situation
    }
}

impl Vault {
    /// Takes every step of every rotation that can be taken now, each in a commit of its own.
    pub(super) fn turn(
        &self,
        around: &Around<'_>,
        kept: &mut Kept,
        watch: &mut Watch,
        failed: &mut Vec<MakeError>,
    ) -> Result<(Vec<Turned>, Vec<RotationTold>), StoreError> {
        let (mut turned, mut told) = (Vec::new(), Vec::new());
        for (name, mut rotation) in self.store.rotations()? {
            let situation = loop {
                let mut situation = around.situation(&name, kept, &rotation);
                situation.overdue = watch.look(&rotation, &situation, around.now);
                let Some(step) = next(&rotation, &situation) else { break situation };
                match self.changes(&rotation, &step, around) {
                    Ok(changes) if changes.is_empty() => break situation,
                    Ok(changes) => self.store.commit(&changes)?,
                    Err(Unmade::Make(error)) => {
                        failed.push(error);
                        break situation;
                    }
                    Err(Unmade::Store(error)) => return Err(error),
                }
                self.read_again(&mut rotation, &step, kept)?;
                turned.push(Turned { name: name.clone(), step });
            };
            if rotation.is_over() && !is_known(&name, around.wanted, kept) {
                self.store.commit(&[Change::Forget(name)])?;
                continue;
            }
            told.push(rotation.told(&situation));
        }
        Ok((turned, told))
    }

    fn changes(&self, rotation: &Rotation, step: &Step, around: &Around<'_>) -> Result<Vec<Change>, Unmade> {
        let (mut what, mut to, mut number) = (None, None, 0);
        if let Step::Begin { node, .. } | Step::Narrow { node } = step {
            let key = rotation.key(node);
            what = around.wanted.entries.get(&key);
            to = what.and_then(|what| recipients(&key, what, around.pins).ok());
            number = self.store.highest(&key).map_err(Unmade::Store)? + 1;
        }
        let mut random = SystemRandom;
        let rotates = Rotates { what, to, number };
        rotate(rotation, step, rotates, &mut self.maker(around.escrow, &mut random)).map_err(Unmade::Make)
    }

    fn read_again(&self, rotation: &mut Rotation, step: &Step, kept: &mut Kept) -> Result<(), StoreError> {
        if let Some(now) = self.store.rotations()?.remove(&rotation.name) {
            *rotation = now;
        }
        if let Step::Begin { node, .. } | Step::Retire { node, .. } = step {
            let key = rotation.key(node);
            match self.store.kept_of(&key)? {
                live if live.is_empty() => drop(kept.remove(&key)),
                live => drop(kept.insert(key, live)),
            }
        }
        Ok(())
    }

    /// Begins a rotation of a name, on one node or on all that have it; one that was begun by the same id is told again.
    pub fn rotate(
        &self,
        name: &RotationName,
        node: Option<&NodeName>,
        id: &str,
        terms: Terms,
    ) -> Result<RotationTold, NotRotated> {
        let _making = self.making();
        match self.rotation(name)? {
            Some(known) if known.id == id => return Ok(self.told(&known)),
            Some(known) if !known.is_over() => return Err(NotRotated::UnderWay(Box::new(self.told(&known)))),
            Some(_) | None => {}
        }
        let has_one = self.store.kept()?;
        let remaining: BTreeSet<NodeName> = has_one
            .into_keys()
            .filter(|key| key.module == name.module && key.entry == name.entry)
            .map(|key| key.node)
            .filter(|its| node.is_none_or(|node| node == its))
            .collect();
        if remaining.is_empty() {
            return Err(NotRotated::Nothing);
        }
        let rotation = Rotation {
            id: id.to_owned(),
            name: name.clone(),
            cause: Cause::Asked,
            terms,
            direction: Direction::Forward,
            state: State::Running,
            remaining,
            between: BTreeMap::new(),
            done: BTreeSet::new(),
        };
        self.commit(rotation)
    }

    /// Goes on with a rotation that has stopped.
    pub fn resume(&self, name: &RotationName) -> Result<RotationTold, NotRotated> {
        let mut watch = self.making();
        let rotation = self.under_way(name)?.resumed();
        watch.forget(&rotation.id);
        self.commit(rotation)
    }

    /// Gives a rotation up: who is between two goes back.
    pub fn abandon(&self, name: &RotationName) -> Result<RotationTold, NotRotated> {
        let mut watch = self.making();
        let rotation = self.under_way(name)?;
        let mut numbers = BTreeMap::new();
        for node in rotation.between.keys() {
            numbers.insert(node.clone(), self.store.highest(&rotation.key(node))? + 1);
        }
        let rotation = rotation.abandoned(|node| numbers.get(node).copied().unwrap_or_default());
        watch.forget(&rotation.id);
        self.commit(rotation)
    }

    /// How far each rotation has come.
    pub fn rotations(&self) -> Vec<RotationTold> {
        self.rotations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was committed is told at once: whoever asked looks next.
    fn commit(&self, rotation: Rotation) -> Result<RotationTold, NotRotated> {
        let told = rotation.told(&Situation::default());
        self.store.commit(&[Change::Rotate(rotation)])?;
        let mut all = self.rotations.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| (&one.module, &one.name) != (&told.module, &told.name));
        all.push(told.clone());
        Ok(told)
    }

    fn rotation(&self, name: &RotationName) -> Result<Option<Rotation>, StoreError> {
        Ok(self.store.rotations()?.remove(name))
    }

    fn under_way(&self, name: &RotationName) -> Result<Rotation, NotRotated> {
        self.rotation(name)?.filter(|rotation| !rotation.is_over()).ok_or(NotRotated::None)
    }

    /// It, as the last look saw it.
    fn told(&self, rotation: &Rotation) -> RotationTold {
        let known = self.rotations().into_iter().find(|told| told.id == rotation.id);
        known.unwrap_or_else(|| rotation.told(&Situation::default()))
    }
}

enum Unmade {
    Make(MakeError),
    Store(StoreError),
}

fn is_known(name: &RotationName, wanted: &Wanted, kept: &Kept) -> bool {
    let is_of_it = |key: &CredentialKey| key.module == name.module && key.entry == name.entry;
    wanted.entries.keys().any(is_of_it) || kept.keys().any(is_of_it)
}

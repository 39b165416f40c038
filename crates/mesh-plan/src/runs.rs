//! What runs where, in the order of nodes and modules, and what has been decided about each so far.
//!
//! Others name a run by its place in this order: a plan of many modules asks for them all the time, and a name costs
//! comparing texts.

use std::collections::BTreeMap;

use mesh_model::key::ModuleKey;
use mesh_model::name::{LocalName, ModuleName, PortName, ProvisionName, SettingName};
use serde_json::Value;

use crate::span::Span;

/// A module on a node.
pub(crate) struct Run {
    pub(crate) key: ModuleKey,
    /// The place of its module among those of the description.
    pub(crate) module: usize,
    /// Where `mesh.yaml` says so.
    pub(crate) span: Span,
    pub(crate) settings: BTreeMap<SettingName, Value>,
    pub(crate) ports: BTreeMap<PortName, u16>,
    /// Who answers each of its needs, in the order of its own names for them.
    pub(crate) answers: Vec<Answer>,
}

/// Who answers a need.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The consumer's own name for it.
    pub(crate) local: LocalName,
    /// What is needed.
    pub(crate) provision: ProvisionName,
    /// The place of the run that provides it.
    pub(crate) by: usize,
}

impl Run {
    /// Who answers a need.
    pub(crate) fn answer(&self, local: &LocalName) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.local == *local)
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct Runs {
    all: Vec<Run>,
    /// The places of those of each module that runs.
    of: BTreeMap<ModuleName, Vec<usize>>,
}

impl Runs {
    /// Puts them in order: a module on a node, the place of the module, and where that is said.
    pub(crate) fn of(mut placed: Vec<(ModuleKey, usize, Span)>) -> Self {
        placed.sort_by(|one, other| one.0.cmp(&other.0));
        placed.dedup_by(|later, first| later.0 == first.0);
        let run = |(key, module, span)| Run {
            key,
            module,
            span,
            settings: BTreeMap::new(),
            ports: BTreeMap::new(),
            answers: Vec::new(),
        };
        let all: Vec<Run> = placed.into_iter().map(run).collect();
        let mut of: BTreeMap<ModuleName, Vec<usize>> = BTreeMap::new();
        for (place, run) in all.iter().enumerate() {
            match of.get_mut(&run.key.module) {
                Some(places) => places.push(place),
                None => drop(of.insert(run.key.module.clone(), vec![place])),
            }
        }
        Self { all, of }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Run> {
        self.all.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Run> {
        self.all.iter_mut()
    }

    /// Takes the settings of a run out: they are wanted elsewhere.
    pub(crate) fn take_settings(&mut self, place: usize) -> BTreeMap<SettingName, Value> {
        std::mem::take(&mut self.all[place].settings)
    }

    /// The place of a module on a node; none where it does not run there.
    pub(crate) fn place(&self, key: &ModuleKey) -> Option<usize> {
        self.all.binary_search_by(|run| run.key.cmp(key)).ok()
    }

    /// Those of a module.
    pub(crate) fn of_module(&self, module: &ModuleName) -> impl ExactSizeIterator<Item = &Run> + Clone {
        let places = self.of.get(module).map(Vec::as_slice).unwrap_or_default();
        places.iter().map(|place| &self.all[*place])
    }
}

impl std::ops::Index<usize> for Runs {
    type Output = Run;

    fn index(&self, place: usize) -> &Run {
        &self.all[place]
    }
}

impl<'a> IntoIterator for &'a Runs {
    type Item = &'a Run;
    type IntoIter = std::slice::Iter<'a, Run>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

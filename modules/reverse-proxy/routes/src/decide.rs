//! Who gets which name, of all that a consumers file asks for.
//!
//! A name and path belong to one module; its nodes are its targets. Where two modules ask for the same, whoever has it keeps
//! it and the other is told. Where neither has it, neither gets it: the order of a file is no reason to hand a name to
//! somebody. The planner refuses such a description, so here it is the last line of defence.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use mesh_model::name::ModuleName;
use mesh_provider::{ConsumerId, Consumers};

use crate::claim::{Claim, Target};
use crate::host::HostName;
use crate::path::PathPrefix;

/// All that a consumers file comes to.
#[derive(Debug, Default)]
pub struct Routes {
    /// What is served, by name and path.
    pub routes: Vec<Route>,
    /// Who is not served.
    pub refused: Vec<Refused>,
}

/// One name and path, with the targets that requests for it go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The name.
    pub name: HostName,
    /// The part of it.
    pub path: PathPrefix,
    /// Whose it is.
    pub module: ModuleName,
    /// One for each node that the module runs on. Never empty.
    pub targets: Vec<Target>,
    /// For each target, the revision of its consumer's entry.
    pub revisions: Vec<String>,
}

/// A consumer that is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Who.
    pub consumer: ConsumerId,
    /// Of which entry this is said.
    pub revision: String,
    /// Why, in words for its operator.
    pub why: String,
}

/// Who has a name and path up to now.
pub trait Holder {
    /// The module that has it.
    fn holder(&self, name: &HostName, path: &PathPrefix) -> Option<&ModuleName>;
}

/// Decides who gets what.
#[must_use]
pub fn decide(consumers: &Consumers, before: &impl Holder) -> Routes {
    let here = &consumers.provider.node;
    let mut all = Routes { routes: Vec::with_capacity(consumers.consumers.len()), refused: Vec::new() };
    let mut places: HashMap<(HostName, PathPrefix), Vec<usize>> =
        HashMap::with_capacity(consumers.consumers.len());
    for consumer in &consumers.consumers {
        let (id, revision) = (consumer.id.clone(), consumer.revision.clone());
        let Claim { name, path, target } = match Claim::read(consumer, here) {
            Ok(claim) => claim,
            Err(error) => {
                all.refused.push(Refused { consumer: id, revision, why: error.to_string() });
                continue;
            }
        };
        let module = id.module;
        let asked = match places.entry((name.clone(), path.clone())) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Vec::with_capacity(1)),
        };
        if let Some(&at) = asked.iter().find(|at| all.routes[**at].module == module) {
            all.routes[at].targets.push(target);
            all.routes[at].revisions.push(revision);
            continue;
        }
        asked.push(all.routes.len());
        all.routes.push(Route { name, path, module, targets: vec![target], revisions: vec![revision] });
    }
    let contested: Vec<Vec<usize>> = places.into_values().filter(|asked| asked.len() > 1).collect();
    if !contested.is_empty() {
        settle(&mut all, contested, before);
    }
    all
}

/// Takes out every route that two ask for, but that of whoever has it.
fn settle(all: &mut Routes, contested: Vec<Vec<usize>>, before: &impl Holder) {
    let mut out = Vec::new();
    for asked in contested {
        let first = &all.routes[asked[0]];
        let holder = before.holder(&first.name, &first.path);
        let holder = asked.iter().copied().find(|at| Some(&all.routes[*at].module) == holder);
        for at in asked.iter().copied().filter(|at| Some(*at) != holder) {
            let others = asked.iter().copied().filter(|other| *other != at);
            let others: Vec<&str> = others.map(|other| all.routes[other].module.as_str()).collect();
            let why = match holder {
                Some(holder) => taken(&all.routes[at], all.routes[holder].module.as_str()),
                None => asked_by_others(&all.routes[at], &others),
            };
            out.push((at, why));
        }
    }
    out.sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (at, why) in out {
        let Route { targets, revisions, .. } = all.routes.swap_remove(at);
        for (target, revision) in targets.into_iter().zip(revisions) {
            all.refused.push(Refused { consumer: target.consumer, revision, why: why.clone() });
        }
    }
}

fn taken(route: &Route, holder: &str) -> String {
    format!(
        "the name {} is taken by `{holder}`: give one of the two another name, or another path",
        shown(route)
    )
}

fn asked_by_others(route: &Route, others: &[&str]) -> String {
    format!(
        "the name {} is also asked for by `{}`, and none of them had it before: give it to one of them",
        shown(route),
        others.join("`, `")
    )
}

fn shown(route: &Route) -> String {
    match route.path.is_root() {
        true => format!("`{}`", route.name),
        false => format!("`{}{}`", route.name, route.path),
    }
}

impl Holder for HashMap<(HostName, PathPrefix), ModuleName> {
    fn holder(&self, name: &HostName, path: &PathPrefix) -> Option<&ModuleName> {
        self.get(&(name.clone(), path.clone()))
    }
}

#[cfg(test)]
mod tests;

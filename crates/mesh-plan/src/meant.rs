//! What somebody surely meant in `mesh.yaml` by a name that has been refused: what is missing because of that alone is not
//! refused a second time.
//!
//! It knows nothing of rules: they ask, before they refuse that something does not run, is not set or is not bound.

use std::collections::BTreeSet;

use mesh_model::name::{LocalName, ModuleName};

use crate::description::Catalog;
use crate::mesh::MeshFile;
use crate::model::Modules;
use crate::nearest;

/// The modules that may run somewhere, have settings or have bindings that could not be read as such.
#[derive(Debug, Default)]
pub(crate) struct Meant {
    run: Which,
    set: Which,
    bound: Which,
    needs: BTreeSet<(ModuleName, LocalName)>,
}

#[derive(Debug, Default)]
struct Which {
    all: bool,
    modules: BTreeSet<ModuleName>,
}

impl Which {
    fn has(&self, module: &ModuleName) -> bool {
        self.all || self.modules.contains(module)
    }
}

impl Meant {
    /// Of what was written, where these modules are known.
    pub(crate) fn of(mesh: &MeshFile, modules: &Modules<'_>, catalog: &Catalog) -> Self {
        let known = modules.names().chain(catalog.modules.keys());
        let known: BTreeSet<&str> = known.map(|module| module.as_str()).collect();
        let all = |section| mesh.unsure.contains(section);
        let strangers = |section| {
            let of_it = mesh.strangers.iter().filter(move |(of, _)| *of == section);
            of_it.map(|(_, name)| name.as_str())
        };
        let unknown = |name: &ModuleName| !known.contains(name.as_str());
        let elsewhere = |node: &Option<_>| node.as_ref().is_some_and(|node| !mesh.nodes.contains_key(node));
        let mut meant = Self::default();

        let nearest = |name: &str| nearest::nearest(name, known.iter().copied())?.parse::<ModuleName>().ok();
        let lost = mesh.assign.iter().filter(|assign| unknown(&assign.module.value));
        let lost = lost.map(|assign| assign.module.value.as_str()).chain(strangers("assign"));
        let torn = mesh.assign.iter().filter(|assign| {
            assign.unsure || assign.nodes.iter().any(|node| !mesh.nodes.contains_key(&node.value))
        });
        let torn = torn.map(|assign| assign.module.value.clone());
        meant.run = Which {
            all: all("assign") || all("nodes"),
            modules: lost.filter_map(nearest).chain(torn).collect(),
        };

        let lost = mesh.config.iter().filter(|settings| unknown(&settings.module));
        let lost = lost.map(|settings| settings.module.as_str()).chain(strangers("config"));
        let torn = mesh.config.iter().filter(|settings| settings.unsure || elsewhere(&settings.node));
        let torn = torn.map(|settings| settings.module.clone());
        meant.set = Which { all: all("config"), modules: lost.filter_map(nearest).chain(torn).collect() };

        let lost = strangers("bind").filter_map(nearest);
        meant.bound = Which { all: all("bind"), modules: lost.collect() };
        for binding in &mesh.bind {
            if unknown(&binding.module) {
                let module = nearest(binding.module.as_str());
                meant.needs.extend(module.map(|module| (module, binding.local.clone())));
            } else if elsewhere(&binding.node) {
                meant.needs.insert((binding.module.clone(), binding.local.clone()));
            } else if let Some(module) = modules.get(&binding.module) {
                let needs = || module.manifest.needs.keys().map(|local| local.as_str());
                let local = binding.local.as_str();
                let lost = !module.manifest.needs.contains_key(local);
                let meant_by = lost.then(|| nearest::nearest(local, needs())).flatten();
                meant
                    .needs
                    .extend(meant_by.and_then(|local| Some((binding.module.clone(), local.parse().ok()?))));
            }
        }
        meant
    }

    /// Whether a module that runs nowhere may be meant to.
    pub(crate) fn runs(&self, module: &ModuleName) -> bool {
        self.run.has(module)
    }

    /// Whether a setting that a module has not may be meant for it.
    pub(crate) fn sets(&self, module: &ModuleName) -> bool {
        self.set.has(module)
    }

    /// Whether a need that nothing binds may be meant by a binding.
    pub(crate) fn binds(&self, module: &ModuleName, local: &LocalName) -> bool {
        self.bound.has(module) || self.needs.contains(&(module.clone(), local.clone()))
    }
}

//! Which values of a module on a node change, and so which files and services are touched.

use std::collections::BTreeMap;

use mesh_model::key::ModuleKey;
use mesh_model::name::{CollectionName, FilePath, ModuleName, NodeName, ProvisionName, ServiceName};
use mesh_model::placeholder::{Reference, Template};
use mesh_model::wire::{Assignment, Config, Consumer, File, Health, Need, Run};

use crate::plan::{Content, Plan};

/// What each node's modules add to collections, before and after.
pub(super) type Collections<'a> =
    [BTreeMap<(&'a NodeName, &'a CollectionName), BTreeMap<&'a ModuleName, &'a Vec<String>>>; 2];

/// The items of every collection, before and after.
pub(super) fn collections<'a>(
    before: &'a BTreeMap<ModuleKey, Assignment>,
    plan: &'a Plan,
) -> Collections<'a> {
    [before, &plan.assignments].map(|assignments| {
        let mut out: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for one in assignments.values() {
            for (name, items) in &one.contributes {
                out.entry((&one.node, name)).or_default().insert(&one.module, items);
            }
        }
        out
    })
}

/// A module on a node, before and after.
pub(super) struct Changed<'a> {
    pub(super) old: &'a Assignment,
    pub(super) new: &'a Assignment,
    settings: (Option<&'a Config>, Option<&'a Config>),
    collections: &'a Collections<'a>,
}

impl<'a> Changed<'a> {
    pub(super) fn of(
        old: &'a Assignment,
        new: &'a Assignment,
        settings: (Option<&'a Config>, Option<&'a Config>),
        collections: &'a Collections<'a>,
    ) -> Self {
        Self { old, new, settings, collections }
    }

    pub(super) fn settings_changed(&self) -> bool {
        self.old.settings != self.new.settings
    }

    /// Whether the value behind a placeholder changes.
    fn reference(&self, reference: &Reference) -> bool {
        let Self { old, new, .. } = self;
        match reference {
            Reference::Config(name) => {
                let value = |config: Option<&'a Config>| config.and_then(|config| config.values.get(name));
                value(self.settings.0) != value(self.settings.1)
            }
            Reference::Secret(name) => old.secrets.get(name) != new.secrets.get(name),
            Reference::Bound(local, _) => {
                let need = |of: &'a Assignment| of.needs.iter().find(|need| need.local == *local);
                need(old) != need(new)
            }
            Reference::Consumers(provision) | Reference::Contribution(provision) => {
                consumers(old, provision) != consumers(new, provision)
            }
            Reference::Collected(name) | Reference::Shell(name) | Reference::Environment(name) => {
                let key = (&new.node, name);
                self.collections[0].get(&key) != self.collections[1].get(&key)
            }
            Reference::Dir(name) => old.dirs.get(name) != new.dirs.get(name),
            Reference::File(_) => old.folder != new.folder,
            Reference::Access(to) => old.access.get(&to.to_string()) != new.access.get(&to.to_string()),
            Reference::Port(name) => old.ports.get(name) != new.ports.get(name),
            Reference::Seat(name) => old.seats.get(name) != new.seats.get(name),
            Reference::MachineName | Reference::MachineAddress => old.machine != new.machine,
            _ => false,
        }
    }

    fn text(&self, text: &str) -> bool {
        Template::parse(text).0.placeholders().any(|placeholder| self.reference(&placeholder.reference))
    }

    /// Whether what a service is started with changes, by the values in it.
    pub(super) fn run(&self, run: &Run) -> bool {
        texts(run).any(|text| self.text(text))
    }

    /// Whether a file changes, by the values in it. One whose text is not at hand may, where any setting does.
    pub(super) fn file(&self, path: &FilePath, file: &File, plan: &Plan) -> bool {
        if self.old.files.get(path) != Some(file) {
            return true;
        }
        match plan.contents.get(&file.digest) {
            _ if file.verbatim => false,
            Some(Content::Inline(bytes)) => std::str::from_utf8(bytes).is_ok_and(|text| self.text(text)),
            _ => self.settings_changed(),
        }
    }

    /// Everything that differs, a line each.
    pub(super) fn why(&self) -> Vec<String> {
        let Self { old, new, .. } = self;
        let mut why = Vec::new();
        if let (Some(before), Some(after)) = self.settings {
            differ("setting", &before.values, &after.values, &mut why);
        }
        numbers("port", &old.ports, &new.ports, &mut why);
        differ("file", &old.files, &new.files, &mut why);
        differ("folder", &old.dirs, &new.dirs, &mut why);
        differ("secret", &old.secrets, &new.secrets, &mut why);
        differ("access", &old.access, &new.access, &mut why);
        differ("seat", &old.seats, &new.seats, &mut why);
        differ("collection", &old.contributes, &new.contributes, &mut why);
        differ("provision", &old.provides, &new.provides, &mut why);
        let run = |of: &'a Assignment| of.run.iter().collect::<BTreeMap<&ServiceName, &Run>>();
        differ("service", &run(old), &run(new), &mut why);
        let needs = |of: &Assignment| -> BTreeMap<String, Need> {
            of.needs.iter().map(|need| (need.local.to_string(), need.clone())).collect()
        };
        differ("need", &needs(old), &needs(new), &mut why);
        let consumers = |of: &Assignment| -> BTreeMap<String, Consumer> {
            let name = |one: &Consumer| format!("{} of {}@{}", one.local, one.module, one.node);
            of.consumers.iter().map(|one| (name(one), one.clone())).collect()
        };
        differ("consumer", &consumers(old), &consumers(new), &mut why);
        if old.machine != new.machine {
            why.push("the address of its node changes".to_owned());
        }
        if old.folder != new.folder {
            why.push(format!("its folder moves to {}", new.folder));
        }
        why
    }
}

fn consumers<'a>(of: &'a Assignment, provision: &ProvisionName) -> Vec<&'a Consumer> {
    of.consumers.iter().filter(|one| one.provision == *provision).collect()
}

fn differ<K: Ord + std::fmt::Display, V: PartialEq>(
    what: &str,
    old: &BTreeMap<K, V>,
    new: &BTreeMap<K, V>,
    why: &mut Vec<String>,
) {
    for (name, value) in new {
        match old.get(name) {
            None => why.push(format!("the {what} `{name}` is new")),
            Some(before) if before != value => why.push(format!("the {what} `{name}` changes")),
            Some(_) => {}
        }
    }
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    why.extend(gone.map(|name| format!("the {what} `{name}` is gone")));
}

/// The same, with the numbers.
fn numbers<K: Ord + std::fmt::Display>(
    what: &str,
    old: &BTreeMap<K, u16>,
    new: &BTreeMap<K, u16>,
    why: &mut Vec<String>,
) {
    for (name, after) in new {
        match old.get(name) {
            None => why.push(format!("the {what} `{name}` is new: {after}")),
            Some(before) if before != after => {
                why.push(format!("the {what} `{name}` changes from {before} to {after}"))
            }
            Some(_) => {}
        }
    }
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    why.extend(gone.map(|name| format!("the {what} `{name}` is gone")));
}

/// Every text of a service.
fn texts(run: &Run) -> impl Iterator<Item = &String> {
    let prepare = run.prepare.iter().flat_map(|step| step.exec.iter().chain(&step.creates));
    let image =
        run.image.iter().flat_map(|image| image.args.iter().chain(&image.mounts).chain([&image.name]));
    let health: Vec<&String> = match &run.health {
        None => Vec::new(),
        Some(Health::Http(text) | Health::Tcp(text)) => vec![text],
        Some(Health::Exec(texts)) => texts.iter().collect(),
    };
    prepare.chain(&run.exec).chain(image).chain(run.env.values()).chain(&run.user).chain(health)
}

/// The services that name a file; all where none does.
pub(super) fn readers<'a>(of: &'a Assignment, path: &FilePath) -> Vec<&'a ServiceName> {
    let names = |run: &Run| {
        let named = |text: &String| {
            let (template, _) = Template::parse(text);
            template.placeholders().any(|p| matches!(&p.reference, Reference::File(file) if file == path))
        };
        texts(run).any(named)
    };
    let named: Vec<&ServiceName> =
        of.run.iter().filter(|(_, run)| names(run)).map(|(name, _)| name).collect();
    if named.is_empty() { of.run.keys().collect() } else { named }
}

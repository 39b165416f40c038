//! A description as it was read: every file decoded, and what runs where.
//!
//! Rules look at this and at nothing else. What could not be read is marked, so that no rule refuses what only looks wrong
//! because of it.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::{FilePath, LocalName, ModuleName, NodeName, PortName, ProvisionName, SettingName};
use mesh_model::placeholder::{Access, Reference};
use mesh_model::refusal::{Code, Refusal};
use mesh_model::wire::{Machine, Provider};
use serde_json::Value;

use crate::beside::{self, Beside};
use crate::decode::{self, Reading};
use crate::description::{
    Catalog, Description, Facts, MANIFEST_LIMIT, MESH_LIMIT, manifest_of, manifest_path,
};
use crate::manifest::{Manifest, Provision};
use crate::meant::Meant;
use crate::mesh::MeshFile;
use crate::source::Source;
use crate::span::Span;
use crate::text::Text;
use crate::texts::{Spot, texts};
use crate::yaml;

/// A description as it was read, and what has been decided about it so far.
pub(crate) struct Model<'a> {
    pub(crate) description: &'a Description,
    pub(crate) catalog: &'a Catalog,
    pub(crate) facts: &'a Facts,
    /// `mesh.yaml`.
    pub(crate) source: Source,
    pub(crate) mesh: MeshFile,
    /// Whether `mesh.yaml` could be read to its end.
    pub(crate) mesh_read: bool,
    /// What its misspelt names are surely meant to be.
    pub(crate) meant: Meant,
    pub(crate) modules: BTreeMap<ModuleName, Module>,
    /// What runs where, with where `mesh.yaml` says so.
    pub(crate) runs: BTreeMap<ModuleKey, Span>,
    /// The nodes of each module that runs anywhere.
    pub(crate) nodes_of: BTreeMap<ModuleName, Vec<NodeName>>,
    /// Who answers each need.
    pub(crate) answers: BTreeMap<ModuleKey, BTreeMap<LocalName, Provider>>,
    /// The ports of each module on each node.
    pub(crate) ports: BTreeMap<ModuleKey, BTreeMap<PortName, u16>>,
    /// The settings of each module on each node.
    pub(crate) settings: BTreeMap<ModuleKey, BTreeMap<SettingName, Value>>,
}

/// A module of the folder.
pub(crate) struct Module {
    pub(crate) source: Source,
    pub(crate) manifest: Manifest,
    pub(crate) digest: Digest,
    /// The files beside the manifest that files with placeholders are made from.
    pub(crate) beside: BTreeMap<FilePath, Beside>,
    /// The needs that a placeholder of it uses: it waits for these.
    pub(crate) waits: BTreeSet<LocalName>,
}

impl Module {
    /// Every text of it that may hold placeholders, with the file that it stands in.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (Spot, &Text, &Source)> {
        let beside = self.beside.values().map(|file| (Spot::File, &file.text, &file.source));
        texts(&self.manifest).map(|(spot, text)| (spot, text, &self.source)).chain(beside)
    }
}

impl<'a> Model<'a> {
    /// Reads every file of a description. What is wrong with the files alone is told beside it.
    pub(crate) fn read(
        description: &'a Description,
        catalog: &'a Catalog,
        facts: &'a Facts,
    ) -> (Self, Vec<Refusal>) {
        let mut refusals = Vec::new();
        let mut modules = BTreeMap::new();
        let mut misnamed = BTreeSet::new();
        for path in description.files.keys() {
            if let Some(folder) = manifest_of(path) {
                match folder.parse::<ModuleName>() {
                    Ok(name) => {
                        let module = module(description, path, &name, &mut refusals);
                        modules.insert(name, module);
                    }
                    Err(error) => {
                        refusals.push(refused_folder(path, folder, &error));
                        misnamed.insert(folder.to_owned());
                    }
                }
            }
        }
        let (source, root) = tree(description, "mesh.yaml", None, MESH_LIMIT, &mut refusals);
        let mut reading = Reading::new(&source);
        let mesh_read = root.is_some();
        let mesh = root.map(|root| decode::mesh::read(&mut reading, &root, misnamed)).unwrap_or_default();
        refusals.append(&mut reading.refusals);
        let meant = Meant::of(&mesh, &modules, catalog);
        let mut model = Self {
            description,
            catalog,
            facts,
            source,
            mesh,
            mesh_read,
            meant,
            modules,
            runs: BTreeMap::new(),
            nodes_of: BTreeMap::new(),
            answers: BTreeMap::new(),
            ports: BTreeMap::new(),
            settings: BTreeMap::new(),
        };
        model.place_modules();
        (model, refusals)
    }

    fn place_modules(&mut self) {
        for assign in &self.mesh.assign {
            if !self.modules.contains_key(&assign.module.value) {
                continue;
            }
            for node in assign.nodes.iter().filter(|node| self.mesh.nodes.contains_key(&node.value)) {
                let key = ModuleKey { node: node.value.clone(), module: assign.module.value.clone() };
                self.runs.insert(key, node.span);
            }
        }
        for key in self.runs.keys() {
            self.nodes_of.entry(key.module.clone()).or_default().push(key.node.clone());
        }
    }

    /// The module of a place where it runs.
    pub(crate) fn module(&self, name: &ModuleName) -> &Module {
        &self.modules[name]
    }

    /// What a module provides under a name.
    pub(crate) fn provision(&self, module: &ModuleName, provision: &ProvisionName) -> Option<&Provision> {
        self.modules.get(module)?.manifest.provides.get(provision).map(|at| &at.value)
    }

    /// Whether every module of the folder says surely what it provides.
    pub(crate) fn provides_are_sure(&self) -> bool {
        self.modules.values().all(|module| module.manifest.sure("provides"))
    }

    /// The nodes that a module runs on.
    pub(crate) fn nodes_of(&self, module: &ModuleName) -> &[NodeName] {
        self.nodes_of.get(module).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether `nodes` surely does not have a node.
    pub(crate) fn is_no_node(&self, node: &NodeName) -> bool {
        !self.mesh.nodes.contains_key(node) && !self.mesh.unsure.contains("nodes")
    }

    pub(crate) fn address(&self, node: &NodeName) -> Option<&String> {
        self.mesh.nodes.get(node)?.address.as_ref()
    }

    pub(crate) fn machine(&self, node: &NodeName) -> Machine {
        Machine { name: node.clone(), address: self.address(node).cloned() }
    }

    /// The node on which a module is reached from another: the one named, this one, or the only one.
    pub(crate) fn access_node<'b>(&'b self, from: &'b NodeName, access: &'b Access) -> Option<&'b NodeName> {
        let nodes = self.nodes_of(&access.module);
        match &access.node {
            Some(node) => nodes.iter().find(|known| *known == node),
            None if nodes.contains(from) => Some(from),
            None if nodes.len() == 1 => nodes.first(),
            None => None,
        }
    }
}

fn refused_folder(path: &str, folder: &str, error: &mesh_model::name::NameError) -> Refusal {
    let message = error.to_string();
    let (message, help) = message.split_once(": ").unwrap_or((&message, ""));
    let source = Source::new(path.to_owned(), None, String::new());
    let help = format!("rename the folder: {help}");
    let mut refusal = source.refuse(Code::BadName, Span::BEGINNING, message.to_owned(), help);
    refusal.name = Some(folder.to_owned());
    refusal
}

fn module(description: &Description, path: &str, name: &ModuleName, refusals: &mut Vec<Refusal>) -> Module {
    let (source, root) = tree(description, path, Some(name.clone()), MANIFEST_LIMIT, refusals);
    let mut reading = Reading::new(&source);
    let manifest = match &root {
        Some(root) => decode::manifest::read(&mut reading, root, name.clone()),
        None => Manifest::unread(name.clone()),
    };
    refusals.append(&mut reading.refusals);
    let beside = beside::read(description, &manifest, &source, refusals);
    let digest = description.files[path].digest.clone();
    let mut module = Module { source, manifest, digest, beside, waits: BTreeSet::new() };
    let waiting = module.texts().filter(|(spot, ..)| spot.waits());
    let used = waiting.flat_map(|(_, text, _)| text.placeholders());
    let waits = used.filter_map(|(placeholder, _)| match &placeholder.reference {
        Reference::Bound(local, _) => Some(local.clone()),
        _ => None,
    });
    module.waits = waits.collect();
    module
}

/// The tree of a file; none where it cannot be read, which has then been told.
fn tree(
    description: &Description,
    path: &str,
    module: Option<ModuleName>,
    limit: u64,
    refusals: &mut Vec<Refusal>,
) -> (Source, Option<yaml::Node>) {
    let bytes = description.texts.get(path).map(Vec::as_slice);
    let size = description.files.get(path).map(|file| file.size);
    let text = String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let source = Source::new(path.to_owned(), module, text);
    let fault = match (bytes, size) {
        (_, Some(size)) if size > limit => {
            let message = format!("{path} has {size} bytes, and {limit} are the most");
            let help = "put what is long into a file beside it, and name that with `from`";
            Some(source.refuse(Code::TooLarge, Span::BEGINNING, message, help.to_owned()))
        }
        (None, _) => {
            let message = format!("there is no {path}");
            let help = "a mesh description is a folder with a `mesh.yaml` in it; `mesh new` makes one";
            Some(source.refuse(Code::BadSyntax, Span::BEGINNING, message, help.to_owned()))
        }
        (Some(bytes), _) => std::str::from_utf8(bytes).err().map(|error| {
            let at = error.valid_up_to();
            let message = "the file is not UTF-8 from this place on".to_owned();
            let help = "text is UTF-8 without NUL, everywhere: save the file as UTF-8";
            source.refuse(Code::BadSyntax, Span::new(at, at), message, help.to_owned())
        }),
    };
    if let Some(refusal) = fault {
        refusals.push(refusal);
        return (source, None);
    }
    let tree = yaml::parse(&source.text);
    let told =
        tree.faults.into_iter().map(|fault| source.refuse(fault.code, fault.span, fault.message, fault.help));
    refusals.extend(told);
    (source, tree.root)
}

/// The path of a module's manifest, for messages about a module that is not there.
pub(crate) fn wanted(name: &ModuleName) -> String {
    manifest_path(name)
}

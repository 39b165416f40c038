//! A description as it was read: every file decoded, and what runs where.
//!
//! Rules look at this and at nothing else. What could not be read is marked, so that no rule refuses what only looks wrong
//! because of it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::{FilePath, LocalName, ModuleName, NodeName};
use mesh_model::placeholder::{Access, Placeholder, Reference};
use mesh_model::refusal::{Code, Refusal};
use mesh_model::wire::Machine;

use crate::beside::{self, Beside};
use crate::decode::{self, Reading};
use crate::description::{
    Catalog, Description, Facts, FileEntry, MANIFEST_LIMIT, MESH_LIMIT, manifest_of, manifest_path,
};
use crate::manifest::{Manifest, Provision};
use crate::meant::Meant;
use crate::mesh::MeshFile;
use crate::runs::{Answer, Run, Runs};
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
    pub(crate) source: Source<'a>,
    pub(crate) mesh: MeshFile,
    /// Whether `mesh.yaml` could be read to its end.
    pub(crate) mesh_read: bool,
    /// What its misspelt names are surely meant to be.
    pub(crate) meant: Meant,
    pub(crate) modules: Modules<'a>,
    pub(crate) runs: Runs,
}

/// The modules of a folder, in the order of their names.
#[derive(Default)]
pub(crate) struct Modules<'a>(pub(crate) Vec<Module<'a>>);

impl<'a> Modules<'a> {
    pub(crate) fn place(&self, name: &ModuleName) -> Option<usize> {
        self.0.binary_search_by(|module| module.manifest.name.cmp(name)).ok()
    }

    pub(crate) fn get(&self, name: &ModuleName) -> Option<&Module<'a>> {
        self.place(name).map(|place| &self.0[place])
    }

    pub(crate) fn contains(&self, name: &ModuleName) -> bool {
        self.place(name).is_some()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Module<'a>> {
        self.0.iter()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &ModuleName> + Clone {
        self.0.iter().map(|module| &module.manifest.name)
    }
}

/// A module of the folder.
pub(crate) struct Module<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) manifest: Manifest,
    pub(crate) digest: Digest,
    /// The files beside the manifest that files with placeholders are made from.
    pub(crate) beside: BTreeMap<FilePath, Beside<'a>>,
    /// The needs that a placeholder of it uses: it waits for these.
    pub(crate) waits: Vec<LocalName>,
}

impl<'a> Module<'a> {
    pub(crate) fn name(&self) -> &ModuleName {
        &self.manifest.name
    }

    /// Every text of it that may hold placeholders, with the file that it stands in.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (Spot, &Text, &Source<'a>)> {
        let beside = self.beside.values().map(|file| (Spot::File, &file.text, &file.source));
        texts(&self.manifest).map(|(spot, text)| (spot, text, &self.source)).chain(beside)
    }

    /// The needs that its placeholders use.
    fn waited_for(&self) -> Vec<LocalName> {
        let waiting = self.texts().filter(|(spot, ..)| spot.waits());
        let used = waiting.flat_map(|(_, text, _)| text.placeholders());
        let waits = used.filter_map(|(placeholder, _)| match &placeholder.reference {
            Reference::Bound(local, _) => Some(local),
            _ => None,
        });
        let mut waits: Vec<LocalName> = waits.cloned().collect();
        waits.sort_unstable();
        waits.dedup();
        waits
    }

    /// Every placeholder of it.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.texts().flat_map(|(_, text, _)| text.placeholders()).map(|(placeholder, _)| placeholder)
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
        let mut modules = Vec::new();
        let mut misnamed = BTreeSet::new();
        for (path, file) in &description.files {
            if let Some(folder) = manifest_of(path) {
                match folder.parse::<ModuleName>() {
                    Ok(name) => modules.push(module(description, path, file, name, &mut refusals)),
                    Err(error) => {
                        refusals.push(refused_folder(path, folder, &error));
                        misnamed.insert(folder.to_owned());
                    }
                }
            }
        }
        // Files come in the order of their paths, which that of the names is not where one begins with another.
        modules.sort_unstable_by(|one, other| one.manifest.name.cmp(&other.manifest.name));
        beside::read(description, &mut modules, &mut refusals);
        modules.iter_mut().for_each(|module| module.waits = module.waited_for());
        let modules = Modules(modules);
        let (source, root) = tree(description, "mesh.yaml", None, MESH_LIMIT, &mut refusals);
        let mut reading = Reading::new(&source);
        let mesh_read = root.is_some();
        let mesh = root.map(|root| decode::mesh::read(&mut reading, &root, misnamed)).unwrap_or_default();
        refusals.append(&mut reading.refusals);
        let meant = Meant::of(&mesh, &modules, catalog);
        let runs = placed(&mesh, &modules);
        let model = Self { description, catalog, facts, source, mesh, mesh_read, meant, modules, runs };
        (model, refusals)
    }

    /// The module of a run.
    pub(crate) fn module(&self, run: &Run) -> &Module<'a> {
        &self.modules.0[run.module]
    }

    /// The runs of a module.
    pub(crate) fn runs_of(&self, module: &ModuleName) -> impl ExactSizeIterator<Item = &Run> + Clone {
        self.runs.of_module(module)
    }

    /// What answers a need.
    pub(crate) fn provision(&self, answer: &Answer) -> Option<&Provision> {
        let provides = &self.module(&self.runs[answer.by]).manifest.provides;
        provides.get(&answer.provision).map(|at| &at.value)
    }

    /// Whether every module of the folder says surely what it provides.
    pub(crate) fn provides_are_sure(&self) -> bool {
        self.modules.iter().all(|module| module.manifest.sure("provides"))
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

    /// Where a module is reached from a node: where that is said, on the node itself, or where it runs alone.
    pub(crate) fn accessed(&self, from: &NodeName, access: &Access) -> Option<&Run> {
        let mut runs = self.runs_of(&access.module);
        match &access.node {
            Some(node) => runs.find(|run| run.key.node == *node),
            None => {
                let alone = if runs.len() == 1 { runs.clone().next() } else { None };
                runs.find(|run| run.key.node == *from).or(alone)
            }
        }
    }
}

/// What runs where: modules that are there, on nodes that are there.
fn placed(mesh: &MeshFile, modules: &Modules<'_>) -> Runs {
    let mut placed = Vec::new();
    for assign in &mesh.assign {
        let Some(place) = modules.place(&assign.module.value) else { continue };
        for node in assign.nodes.iter().filter(|node| mesh.nodes.contains_key(&node.value)) {
            let key = ModuleKey { node: node.value.clone(), module: assign.module.value.clone() };
            placed.push((key, place, node.span));
        }
    }
    Runs::of(placed)
}

fn refused_folder(path: &str, folder: &str, error: &mesh_model::name::NameError) -> Refusal {
    let message = error.to_string();
    let (message, help) = message.split_once(": ").unwrap_or((&message, ""));
    let source = Source::new(path, None, "");
    let help = format!("rename the folder: {help}");
    let mut refusal = source.refuse(Code::BadName, Span::BEGINNING, message.to_owned(), help);
    refusal.name = Some(folder.to_owned());
    refusal
}

fn module<'a>(
    description: &'a Description,
    path: &'a str,
    file: &FileEntry,
    name: ModuleName,
    refusals: &mut Vec<Refusal>,
) -> Module<'a> {
    let (source, root) = tree(description, path, Some(name.clone()), MANIFEST_LIMIT, refusals);
    let mut reading = Reading::new(&source);
    let manifest = match &root {
        Some(root) => decode::manifest::read(&mut reading, root, name),
        None => Manifest::unread(name),
    };
    refusals.append(&mut reading.refusals);
    let (digest, beside, waits) = (file.digest.clone(), BTreeMap::new(), Vec::new());
    Module { source, manifest, digest, beside, waits }
}

/// The tree of a file; none where it cannot be read, which has then been told.
fn tree<'a>(
    description: &'a Description,
    path: &'a str,
    module: Option<ModuleName>,
    limit: u64,
    refusals: &mut Vec<Refusal>,
) -> (Source<'a>, Option<yaml::Node>) {
    let bytes = description.texts.get(path).map(Vec::as_slice);
    let size = description.files.get(path).map(|file| file.size);
    let source = Source::new(path, module, String::from_utf8_lossy(bytes.unwrap_or_default()));
    let fault = match (bytes, size, &source.text) {
        (_, Some(size), _) if size > limit => {
            let message = format!("{path} has {size} bytes, and {limit} are the most");
            let help = "put what is long into a file beside it, and name that with `from`";
            Some(source.refuse(Code::TooLarge, Span::BEGINNING, message, help.to_owned()))
        }
        (None, ..) => {
            let message = format!("there is no {path}");
            let help = "a mesh description is a folder with a `mesh.yaml` in it; `mesh new` makes one";
            Some(source.refuse(Code::BadSyntax, Span::BEGINNING, message, help.to_owned()))
        }
        (Some(_), _, Cow::Borrowed(_)) => None,
        (Some(bytes), ..) => std::str::from_utf8(bytes).err().map(|error| {
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

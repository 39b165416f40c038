//! The plan: for every node, what is assigned and how every need is met; or, instead, refusals.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::{MeshName, ModuleName, NodeName};
use mesh_model::refusal::Refusal;
use mesh_model::wire::{Assignment, Config, Placement, PlanRecord, Timestamp, V1};

use crate::assignments::{self, Assignments};
use crate::description::{Catalog, Description, Facts, ROOT};
use crate::model::Model;
use crate::ports;
use crate::rules::{RULES, WARNINGS, contributions, providers, settings};

/// What came of planning.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The name of the mesh, as far as it could be read.
    pub mesh: Option<MeshName>,
    /// Everything that could never work: `mesh.yaml` first, then by path, line and column.
    pub refusals: Vec<Refusal>,
    /// What works, but is surely not meant, in the same order.
    pub warnings: Vec<Refusal>,
    /// The plan: there exactly where nothing was refused.
    pub plan: Option<Plan>,
}

/// A plan: it leaves nothing for a node to decide.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The mesh.
    pub mesh: MeshName,
    /// The digest of what it says.
    pub id: Digest,
    /// The plan that it follows.
    pub follows: Option<Digest>,
    /// The digest of the description's listing.
    pub description: Digest,
    /// What is decided once and kept, for each `<module>@<node>`.
    pub placement: BTreeMap<String, Placement>,
    /// What every module on every node is to do.
    pub assignments: BTreeMap<ModuleKey, Assignment>,
    /// The settings of every module on every node.
    pub settings: BTreeMap<ModuleKey, Config>,
    /// Every node, with its address.
    pub nodes: BTreeMap<NodeName, Option<String>>,
    /// The folder that each node keeps everything under.
    pub roots: BTreeMap<NodeName, String>,
    /// The ports of each address that something outside the mesh held.
    pub held: BTreeMap<String, BTreeSet<u16>>,
    /// The modules that have a bus account of their own.
    pub accounts: BTreeSet<ModuleName>,
    /// Recipients to whom every secret is sealed too.
    pub escrow: Vec<String>,
    /// Where the content of each file of an assignment is found.
    pub contents: BTreeMap<Digest, Content>,
}

/// Where the content of a file is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Here: it is written in a manifest.
    Inline(Vec<u8>),
    /// In this file of the description.
    File(String),
}

impl Plan {
    /// The plan as it is kept on the bus: what it says, by whom and when.
    #[must_use]
    pub fn record(&self, by: &str, at: Timestamp) -> PlanRecord {
        PlanRecord {
            v: V1,
            id: self.id.clone(),
            follows: self.follows.clone(),
            description: self.description.clone(),
            placement: self.placement.clone(),
            roots: self.roots.clone(),
            held: self.held.clone(),
            escrow: self.escrow.clone(),
            by: by.to_owned(),
            at,
        }
    }
}

/// Plans a description: the same input gives the same outcome, byte for byte.
///
/// `previous` is the plan in effect: what it decided once is kept.
#[must_use]
pub fn plan(
    description: &Description,
    catalog: &Catalog,
    previous: Option<&PlanRecord>,
    facts: &Facts,
) -> Outcome {
    let (mut model, mut refusals) = Model::read(description, catalog, facts);
    settings::decide(&mut model, &mut refusals);
    providers::decide(&mut model, &mut refusals);
    ports::decide(&mut model, previous, &mut refusals);
    let handed = contributions::decide(&model, &mut refusals);
    for rule in RULES {
        rule(&model, &mut refusals);
    }
    let mut warnings = Vec::new();
    for rule in WARNINGS {
        rule(&model, &mut warnings);
    }
    // What is not used may be what was misspelt where it is used.
    let refused: BTreeSet<&str> = refusals.iter().map(whose).collect();
    warnings.retain(|warning: &Refusal| !refused.contains(whose(warning)));
    let name = model.mesh.mesh.clone();
    let mut plan = None;
    if let (true, Some(mesh)) = (refusals.is_empty(), &name) {
        let made = put_together(model, mesh, handed, previous, &mut refusals);
        plan = refusals.is_empty().then_some(made);
    }
    Outcome { mesh: name, refusals: in_order(refusals), warnings: in_order(warnings), plan }
}

fn put_together(
    model: Model<'_>,
    mesh: &MeshName,
    handed: contributions::Contributions,
    previous: Option<&PlanRecord>,
    refusals: &mut Vec<Refusal>,
) -> Plan {
    let description = model.description.digest();
    let placed = model.runs.iter().filter(|run| !run.ports.is_empty());
    let placement: BTreeMap<String, Placement> =
        placed.map(|run| (run.key.at(), Placement { ports: run.ports.clone() })).collect();
    let root = |node: &NodeName| model.facts.roots.get(node).cloned().unwrap_or_else(|| ROOT.to_owned());
    let roots: BTreeMap<NodeName, String> =
        model.mesh.nodes.keys().map(|node| (node.clone(), root(node))).collect();
    let id = Digest::of_json(&(mesh, &description, &placement, &roots));
    let own = model.modules.iter().filter(|module| module.manifest.runs_as_own);
    let own = own.map(|module| module.name()).filter(|name| model.runs_of(name).len() > 0);
    let accounts = own.cloned().collect();
    let nodes = model.mesh.nodes.iter().map(|(name, node)| (name.clone(), node.address.clone())).collect();
    let (held, escrow) = (model.facts.held.clone(), model.mesh.escrow.clone());
    let Assignments { assignments, settings, contents } =
        assignments::assignments(model, handed, &id, refusals);
    Plan {
        mesh: mesh.clone(),
        follows: previous.map(|plan| plan.id.clone()),
        description,
        placement,
        assignments,
        settings,
        nodes,
        roots,
        held,
        accounts,
        escrow,
        contents,
        id,
    }
}

/// The folder of the module whose file something is in, or the file.
fn whose(refusal: &Refusal) -> &str {
    let inside = refusal.file.strip_prefix("modules/").and_then(|path| path.split('/').next());
    inside.unwrap_or(&refusal.file)
}

/// `mesh.yaml` first, then by path, line and column; one for what is wrong at one place, however many nodes it concerns.
fn in_order(mut refusals: Vec<Refusal>) -> Vec<Refusal> {
    fn place(refusal: &Refusal) -> (bool, &str, usize, usize, &str, Option<&String>) {
        let Refusal { file, line, column, code, name, .. } = refusal;
        (file != "mesh.yaml", file, *line, *column, code.as_str(), name.as_ref())
    }
    refusals.sort_by(|a, b| {
        place(a).cmp(&place(b)).then_with(|| a.node.cmp(&b.node)).then_with(|| a.message.cmp(&b.message))
    });
    let manifest = |refusal: &Refusal| refusal.file != "mesh.yaml";
    refusals
        .dedup_by(|a, b| place(a) == place(b) && (manifest(a) || a.message == b.message || a.node != b.node));
    refusals
}

//! Who needs what from whom, as a graph: also of a description that is refused, with what is refused marked.

use std::collections::BTreeMap;

use mesh_model::key::ModuleKey;
use mesh_model::name::{LocalName, MeshName, NodeName, ProvisionName};
use mesh_model::refusal::{Code, Refusal};
use mesh_model::wire::Provider;

use crate::description::{Catalog, Description, Facts};
use crate::model::Model;
use crate::rules::{providers, settings};
use crate::runs::Run;

/// Nodes, modules, needs, and who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// The mesh, as far as its name could be read.
    pub mesh: Option<MeshName>,
    /// Every node, with its address.
    pub nodes: BTreeMap<NodeName, Option<String>>,
    /// Every module on a node, with what it needs.
    pub modules: BTreeMap<ModuleKey, Vec<Need>>,
}

/// One need of a module on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// What it is called there.
    pub local: LocalName,
    /// What is needed.
    pub provision: ProvisionName,
    /// Who answers, where that is decided.
    pub from: Option<Provider>,
    /// Why it is refused.
    pub refused: Option<Code>,
}

/// What a refusal of a need is about.
const OF_NEEDS: &[Code] = &[
    Code::NoProvider,
    Code::ProviderNotAssigned,
    Code::AmbiguousProvider,
    Code::WaitsOnItself,
    Code::MissingContribution,
    Code::UnknownContribution,
    Code::BadContribution,
    Code::ContributionTaken,
];

impl Graph {
    /// Of a description, with what planning it refused; none where `mesh.yaml` cannot be read.
    #[must_use]
    pub fn of(description: &Description, catalog: &Catalog, refusals: &[Refusal]) -> Option<Self> {
        let facts = Facts::default();
        let (mut model, mut told) = Model::read(description, catalog, &facts);
        settings::decide(&mut model, &mut told);
        providers::decide(&mut model, &mut told);
        let nodes = model.mesh.nodes.iter().map(|(name, node)| (name.clone(), node.address.clone()));
        let modules = model.runs.iter().map(|run| (run.key.clone(), needs(&model, run, refusals)));
        let graph =
            Self { mesh: model.mesh.mesh.clone(), nodes: nodes.collect(), modules: modules.collect() };
        model.mesh_read.then_some(graph)
    }
}

fn needs(model: &Model<'_>, run: &Run, refusals: &[Refusal]) -> Vec<Need> {
    let needs = model.module(run).manifest.needs.iter();
    let need = |(local, need): (&LocalName, &crate::text::At<crate::manifest::Need>)| {
        let from = run.answer(local).map(|answer| {
            let ModuleKey { node, module } = model.runs[answer.by].key.clone();
            Provider { module, node }
        });
        let about = |refusal: &&Refusal| {
            let name = refusal.name.as_deref() == Some(local.as_str()) && OF_NEEDS.contains(&refusal.code);
            refusal.module.as_ref() == Some(&run.key.module)
                && (name || (from.is_none() && refusal.code == Code::BadBinding))
        };
        let refused = refusals.iter().find(about).map(|refusal| refusal.code);
        let provision = need.value.provision.as_ref()?.value.clone();
        Some(Need { local: local.clone(), provision, from, refused })
    };
    needs.filter_map(need).collect()
}

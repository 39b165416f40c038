//! What `mesh.yaml` says: the machines, what runs where, settings, bindings. Read by [`crate::decode`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use mesh_model::name::{LocalName, MeshName, ModuleName, NodeName};
use mesh_model::wire::Provider;

use crate::span::Span;
use crate::text::At;
use crate::yaml::Node;

/// The range for `auto` ports where a node says none.
pub const PORTS: RangeInclusive<u16> = 20000..=20999;

/// What `mesh.yaml` says.
#[derive(Debug, Clone, Default)]
pub struct MeshFile {
    /// The name of the mesh.
    pub mesh: Option<MeshName>,
    /// The machines.
    pub nodes: BTreeMap<NodeName, Machine>,
    /// What was meant as the name of a node or a module and is none: refused once, not again wherever it is used.
    pub misnamed: BTreeSet<String>,
    /// The sections that may say something else than what could be read of them.
    pub unsure: BTreeSet<&'static str>,
    /// What was meant as a module in a section and is the name of none.
    pub strangers: Vec<(&'static str, String)>,
    /// What runs where.
    pub assign: Vec<Assign>,
    /// Settings.
    pub config: Vec<Settings>,
    /// Who answers which need.
    pub bind: Vec<Binding>,
    /// Recipients to whom every secret is sealed too.
    pub escrow: Vec<String>,
}

/// A machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Where its name stands.
    pub span: Span,
    /// Where the other nodes reach it.
    pub address: Option<String>,
    /// The range for its `auto` ports.
    pub ports: RangeInclusive<u16>,
    /// Whether an address that was written has been refused.
    pub unsure: bool,
}

/// A module and the nodes that it runs on.
#[derive(Debug, Clone)]
pub struct Assign {
    /// The module.
    pub module: At<ModuleName>,
    /// The nodes.
    pub nodes: Vec<At<NodeName>>,
    /// Whether a node that was written has been refused.
    pub unsure: bool,
}

/// Settings of a module, on one node or on all.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where this is said.
    pub span: Span,
    /// The module.
    pub module: ModuleName,
    /// The node; none for all.
    pub node: Option<NodeName>,
    /// The settings, as they were written.
    pub values: Vec<(At<String>, Node)>,
    /// Whether what was written has been refused as a whole.
    pub unsure: bool,
}

/// Who answers a need.
#[derive(Debug, Clone)]
pub struct Binding {
    /// Where this is said.
    pub span: Span,
    /// The consumer.
    pub module: ModuleName,
    /// Its node; none for all.
    pub node: Option<NodeName>,
    /// The consumer's own name for the need.
    pub local: LocalName,
    /// Who answers; none where what is written there has been refused.
    pub to: Option<At<Provider>>,
}

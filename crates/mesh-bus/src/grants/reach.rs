//! What grants follow from beside the table: what runs where, as the plan has it.

use std::collections::BTreeSet;

use mesh_model::digest::Digest;
use mesh_model::key::{BoundKey, NeedKey};
use mesh_model::name::{ModuleName, ProvisionName, SeatName};

/// What a node's modules reach beyond the node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeReach {
    /// Modules that provide what the node's modules need.
    pub providers: BTreeSet<ModuleName>,
    /// What the node's modules provide.
    pub provides: Vec<Provides>,
    /// The contents of the files that its assignments name.
    pub files: BTreeSet<Digest>,
}

/// A provider on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provides {
    /// The module.
    pub module: ModuleName,
    /// What it provides.
    pub provisions: BTreeSet<ProvisionName>,
    /// Whom it answers.
    pub answers: Answered,
}

/// The keys of a provider's bucket that its node may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// All: the provider runs on this node alone.
    Everybody,
    /// The consumers that the plan gives to the provider on this node.
    Only(BTreeSet<BoundKey>),
}

/// What a module with an account of its own reaches, on one node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModuleReach {
    /// What it provides; none where it provides nothing.
    pub provides: Option<Provides>,
    /// Where the consumers that the plan gives it here tell of their needs.
    pub needs: BTreeSet<NeedKey>,
    /// The seats that it may hold.
    pub seats: BTreeSet<SeatName>,
}

/// What the modules of a mesh are, as far as operators' grants follow from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OperatorReach {
    /// Modules that have a `<provider>_bound` bucket.
    pub providers: BTreeSet<ModuleName>,
    /// Seats of modules, whose verbs are operators' too.
    pub seats: BTreeSet<SeatName>,
}

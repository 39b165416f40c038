//! Who may do what on the bus.
//!
//! Start at [`table`]: who may what, a line each, and what is not there is not granted. What a line comes to for one
//! account follows from what runs where ([`reach`]) and is a list of [`Right`]s ([`rights`]); a right becomes the few
//! subjects that it takes ([`wire`]), as imports of an account of its own or as permissions of a user of `BUS`. What is
//! not imported is answered `no responders`.

use mesh_model::key::ModuleKey;
use mesh_model::name::{NodeName, OperatorName};
use mesh_model::wire::Invitee;

use crate::account::Account;
use crate::jwt::Import;

mod reach;
mod rights;
mod table;
mod wire;

pub use reach::{Answered, ModuleReach, NodeReach, OperatorReach, Provides};
pub use rights::{Right, consumers_filter};
pub use table::{CONFIRM_ESCROW, SERVER};
pub(crate) use wire::{EXPORTS, get_subject, latest_subject, limits, longest_message, seat, whole_subject};

/// What one account may do, for whoever signs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// Whose they are.
    pub account: Account,
    /// What it may do.
    pub rights: Vec<Right>,
}

impl Grants {
    /// Those of a node.
    #[must_use]
    pub fn of_node(name: &NodeName, reach: &NodeReach) -> Self {
        Self { account: Account::Node(name.clone()), rights: rights::node(name, reach) }
    }

    /// Those of a module with an account of its own, on one node.
    #[must_use]
    pub fn of_module(key: &ModuleKey, reach: &ModuleReach) -> Self {
        Self { account: Account::Module(key.clone()), rights: rights::module(reach) }
    }

    /// Those of an operator.
    #[must_use]
    pub fn of_operator(name: &OperatorName, reach: &OperatorReach) -> Self {
        Self { account: Account::Operator(name.clone()), rights: rights::operator(reach) }
    }

    /// Those of somebody who is invited: to ask to join, as whom the invitation names.
    #[must_use]
    pub fn of_invited(invitee: &Invitee) -> Self {
        Self { account: Account::Invited(invitee.clone()), rights: rights::invited() }
    }

    /// What they come to on the wire.
    #[must_use]
    pub fn imports(&self) -> Vec<Import> {
        wire::imports(&self.account, &self.rights)
    }
}

#[cfg(test)]
mod tests;

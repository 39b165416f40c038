//! What the assignments call for: which secrets there must be, and who may read each.
//!
//! Pure. An assignment that could not be read is not the same as one that is gone: what its module
//! has is left alone until it can be read again.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::key::{CredentialKey, Entry, ModuleKey};
use mesh_model::name::{FieldName, NodeName, ProvisionName};
use mesh_model::wire::{self, Assignment, Give, Need, Provider, SecretSpec};
use mesh_seal::{Alphabet, Fields, Recipient};

use crate::credential::Origin;

/// Everything that there must be, and what must be left alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// What there must be, by its key.
    pub entries: BTreeMap<CredentialKey, What>,
    /// Modules of which nothing is known for sure at the moment: nothing of theirs is dropped.
    pub unsure: BTreeSet<ModuleKey>,
    /// The escrow recipients that the plan names; absent where that is not known.
    pub escrow: Option<BTreeSet<Recipient>>,
}

/// One thing that there must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A module's own secret, to be made.
    Own(Spec),
    /// A module's own secret that an operator seals.
    Supplied,
    /// The secret part of a provision.
    Credential {
        /// Who reads it besides the consumer.
        provider: Provider,
        /// Of what kind it is.
        provision: ProvisionName,
        /// What is to be made.
        fields: BTreeMap<FieldName, Spec>,
    },
}

/// How one secret is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// In characters.
    pub length: usize,
    /// Which characters.
    pub alphabet: Alphabet,
}

impl What {
    /// What a credential that serves here was made for.
    pub fn origin(&self) -> Origin {
        match self {
            Self::Own(_) => Origin::Own,
            Self::Supplied => Origin::Supplied,
            Self::Credential { provider, provision, fields } => Origin::Credential {
                provider: provider.clone(),
                provision: provision.clone(),
                fields: fields.keys().cloned().collect(),
            },
        }
    }

    /// The fields that are to be made; none for what an operator supplies.
    pub fn fields(&self) -> Vec<(&str, Spec)> {
        match self {
            Self::Own(spec) => vec![(Fields::OWN, *spec)],
            Self::Supplied => vec![],
            Self::Credential { fields, .. } => {
                fields.iter().map(|(field, spec)| (field.as_str(), *spec)).collect()
            }
        }
    }

    /// The nodes that may read it: the one it belongs to, and a credential's provider.
    pub fn readers<'a>(&'a self, key: &'a CredentialKey) -> BTreeSet<&'a NodeName> {
        let provider = match self {
            Self::Credential { provider, .. } => Some(&provider.node),
            Self::Own(_) | Self::Supplied => None,
        };
        provider.into_iter().chain([&key.node]).collect()
    }
}

/// Reads what is wanted out of all the assignments there are.
pub fn wanted<'a>(assignments: impl IntoIterator<Item = &'a Assignment>) -> BTreeMap<CredentialKey, What> {
    assignments.into_iter().flat_map(|assignment| own(assignment).chain(credentials(assignment))).collect()
}

fn own(assignment: &Assignment) -> impl Iterator<Item = (CredentialKey, What)> {
    assignment.secrets.iter().map(|(name, spec)| {
        let what = match spec {
            SecretSpec { supplied: true, .. } => What::Supplied,
            SecretSpec { length, alphabet, .. } => What::Own(Spec::of(*length, *alphabet)),
        };
        (key(assignment, Entry::Own(name.clone())), what)
    })
}

fn credentials(assignment: &Assignment) -> impl Iterator<Item = (CredentialKey, What)> {
    assignment.needs.iter().filter(|need| need.has_credential()).map(|need| {
        let what = What::Credential {
            provider: need.from.clone(),
            provision: need.provision.clone(),
            fields: secret_fields(need),
        };
        (key(assignment, Entry::Need(need.local.clone())), what)
    })
}

fn secret_fields(need: &Need) -> BTreeMap<FieldName, Spec> {
    let made = need.gives.iter().filter_map(|(field, give)| match give {
        Give::Secret { length, alphabet } => Some((field.clone(), Spec::of(*length, *alphabet))),
        Give::Value | Give::From { .. } => None,
    });
    made.collect()
}

fn key(assignment: &Assignment, entry: Entry) -> CredentialKey {
    CredentialKey { node: assignment.node.clone(), module: assignment.module.clone(), entry }
}

impl Spec {
    fn of(length: u16, alphabet: wire::Alphabet) -> Self {
        let alphabet = match alphabet {
            wire::Alphabet::Alphanumeric => Alphabet::Alphanumeric,
            wire::Alphabet::Hex => Alphabet::Hex,
            wire::Alphabet::Base64url => Alphabet::Base64url,
        };
        Self { length: usize::from(length), alphabet }
    }
}

#[cfg(test)]
mod tests;

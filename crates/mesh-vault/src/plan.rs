//! The steps from what the vault has to what is wanted. Pure, and a small function a question.
//!
//! Made once and kept: an entry that still serves gets no step at all. It serves while it was made
//! for what is wanted now, and is sealed to the very keys that its readers have now.

use std::collections::BTreeMap;
use std::fmt;

use mesh_model::key::{CredentialKey, ModuleKey};
use mesh_model::name::NodeName;
use mesh_seal::Recipient;

use crate::credential::Credential;
use crate::rules::{Wanted, What};

/// What the vault has: the live credentials of each key, the newest last.
pub type Kept = BTreeMap<CredentialKey, Vec<Credential>>;

/// The sealing key of each node.
pub type Pins = BTreeMap<NodeName, Recipient>;

/// One thing to do, or to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Make it, in the place of whatever there is.
    Make {
        /// What for.
        key: CredentialKey,
        /// What it is.
        what: What,
        /// To whom it is sealed.
        to: Pins,
        /// Why.
        why: Reason,
    },
    /// Forget all there is under a key.
    Drop {
        /// Which.
        key: CredentialKey,
        /// Why.
        why: Reason,
    },
    /// It cannot be sealed yet: this node has not shown its key.
    WaitForKey {
        /// What waits.
        key: CredentialKey,
        /// For whom.
        node: NodeName,
    },
    /// An operator has to supply it.
    WaitForOperator {
        /// What waits.
        key: CredentialKey,
    },
}

/// Why something is made or dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// There was none.
    New,
    /// Nobody is assigned who would read it.
    NotWanted,
    /// A node's sealing key is another than the one it was sealed to.
    KeyChanged(NodeName),
    /// A node that read it was taken off.
    KeyGone(NodeName),
    /// Something else is wanted than what it was made for: another provider, other fields, a supplied one.
    OriginChanged,
}

impl Step {
    /// What it is about.
    pub fn key(&self) -> &CredentialKey {
        match self {
            Self::Make { key, .. }
            | Self::Drop { key, .. }
            | Self::WaitForKey { key, .. }
            | Self::WaitForOperator { key } => key,
        }
    }

    /// Whether anything is made or dropped by it.
    pub fn is_change(&self) -> bool {
        match self {
            Self::Make { .. } | Self::Drop { .. } => true,
            Self::WaitForKey { .. } | Self::WaitForOperator { .. } => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("there was none"),
            Self::NotWanted => f.write_str("nothing that is assigned uses it"),
            Self::KeyChanged(node) => write!(f, "the sealing key of {node} changed"),
            Self::KeyGone(node) => write!(f, "{node} was taken off"),
            Self::OriginChanged => f.write_str("it was made for another provider or of other fields"),
        }
    }
}

/// All steps, by key. Nothing to do is an empty list.
pub fn plan(wanted: &Wanted, kept: &Kept, pinned: &Pins) -> Vec<Step> {
    let unwanted =
        kept.keys().filter(|key| is_unwanted(wanted, key)).map(|key| drop_of(key, Reason::NotWanted));
    let needed = wanted.entries.iter().flat_map(|(key, what)| steps_for(key, what, kept.get(key), pinned));
    let mut steps: Vec<_> = unwanted.chain(needed).collect();
    steps.sort_by(|one, other| one.key().cmp(other.key()));
    steps
}

fn is_unwanted(wanted: &Wanted, key: &CredentialKey) -> bool {
    let module = ModuleKey { node: key.node.clone(), module: key.module.clone() };
    !wanted.entries.contains_key(key) && !wanted.unsure.contains(&module)
}

fn steps_for(key: &CredentialKey, what: &What, kept: Option<&Vec<Credential>>, pinned: &Pins) -> Vec<Step> {
    let newest = kept.and_then(|credentials| credentials.last());
    let to = match recipients(key, what, pinned) {
        Ok(to) => to,
        Err(node) => return without_key(key, newest, node),
    };
    let why = match newest {
        Some(credential) => outdated(what, credential, &to),
        None => Some(Reason::New),
    };
    match (why, what) {
        (None, _) => vec![],
        (Some(Reason::New), What::Supplied) => vec![wait_for_operator(key)],
        (Some(why), What::Supplied) => vec![drop_of(key, why), wait_for_operator(key)],
        (Some(why), _) => vec![Step::Make { key: key.clone(), what: what.clone(), to, why }],
    }
}

/// The key of every reader; or the first reader that has none.
pub(crate) fn recipients(key: &CredentialKey, what: &What, pinned: &Pins) -> Result<Pins, NodeName> {
    let with_key = |node: &NodeName| match pinned.get(node) {
        Some(recipient) => Ok((node.clone(), recipient.clone())),
        None => Err(node.clone()),
    };
    what.readers(key).into_iter().map(with_key).collect()
}

/// A node without a key was taken off, or has not joined: what it could read once serves nobody any more.
fn without_key(key: &CredentialKey, newest: Option<&Credential>, node: NodeName) -> Vec<Step> {
    let dropped = newest.map(|_| drop_of(key, Reason::KeyGone(node.clone())));
    dropped.into_iter().chain([Step::WaitForKey { key: key.clone(), node }]).collect()
}

/// Why a credential does not serve any more, or `None` where it does.
fn outdated(what: &What, credential: &Credential, to: &Pins) -> Option<Reason> {
    if let Some((node, _)) =
        to.iter().find(|(node, recipient)| is_sealed_to_another(credential, node, recipient))
    {
        return Some(Reason::KeyChanged(node.clone()));
    }
    (what.origin() != credential.origin).then_some(Reason::OriginChanged)
}

fn is_sealed_to_another(credential: &Credential, node: &NodeName, recipient: &Recipient) -> bool {
    credential.sealed.get(node).is_some_and(|sealed| sealed.recipient != *recipient)
}

fn drop_of(key: &CredentialKey, why: Reason) -> Step {
    Step::Drop { key: key.clone(), why }
}

fn wait_for_operator(key: &CredentialKey) -> Step {
    Step::WaitForOperator { key: key.clone() }
}

#[cfg(test)]
mod tests;

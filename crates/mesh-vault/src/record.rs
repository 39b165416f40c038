//! What others may notice: for each entry that is wanted, its live ids and versions, or why there is none.

use std::collections::BTreeMap;

use mesh_model::key::{CredentialKey, Entry};
use mesh_model::wire::{CredentialRecord, CredentialVersion, V1};

use crate::credential::Credential;
use crate::plan::{Kept, Pins, Step, plan};
use crate::rules::{Wanted, What};

/// The whole of `mesh-vault_credentials` as it should be.
///
/// What is kept and wanted by nobody for certain is in it too, so that it is never told as gone while
/// it may yet be wanted.
pub fn records(wanted: &Wanted, kept: &Kept, pinned: &Pins) -> BTreeMap<CredentialKey, CredentialRecord> {
    let waits = waits(wanted, kept, pinned);
    let keys = wanted.entries.keys().chain(kept.keys());
    let record = |key: &CredentialKey| {
        let live = kept.get(key).map(Vec::as_slice).unwrap_or_default();
        (key.clone(), record(key, live, waits.get(key).cloned()))
    };
    keys.map(record).collect()
}

/// Why each entry that has no credential has none.
pub fn waits(wanted: &Wanted, kept: &Kept, pinned: &Pins) -> BTreeMap<CredentialKey, String> {
    let steps = plan(wanted, kept, pinned);
    steps.into_iter().filter_map(|step| Some((step.key().clone(), why(&step, wanted)?))).collect()
}

fn why(step: &Step, wanted: &Wanted) -> Option<String> {
    match step {
        Step::WaitForKey { node, .. } => {
            Some(format!("node {node} has not joined: the vault does not know its sealing key"))
        }
        Step::WaitForOperator { key } => Some(set_hint(key)),
        Step::Make { key, .. } => match wanted.entries.get(key) {
            Some(What::Credential { .. } | What::Own(_)) => Some("the vault has not made it yet".to_owned()),
            Some(What::Supplied) | None => None,
        },
        Step::Drop { .. } => None,
    }
}

fn set_hint(key: &CredentialKey) -> String {
    let CredentialKey { node, module, entry } = key;
    match entry {
        Entry::Own(name) => format!("it is not supplied yet: mesh secret set {module}.{name} --node {node}"),
        Entry::Need(local) => format!("{local} is not supplied yet"),
    }
}

fn record(key: &CredentialKey, live: &[Credential], why: Option<String>) -> CredentialRecord {
    let version = |one: &Credential| CredentialVersion { id: one.id.clone(), version: one.version };
    CredentialRecord {
        v: V1,
        node: key.node.clone(),
        module: key.module.clone(),
        name: key.entry.to_string(),
        versions: live.iter().map(version).collect(),
        why,
    }
}

#[cfg(test)]
mod tests;

//! What others may notice: for each entry that is wanted, its live ids and versions, or why there is none.

use std::collections::BTreeMap;

use mesh_model::digest::Digest;
use mesh_model::key::{CredentialKey, Entry, encode_token};
use mesh_model::name::ProvisionName;
use mesh_model::wire::{ConsumersRecord, CredentialRecord, CredentialVersion, Provider, V1};

use crate::credential::{Credential, Origin};
use crate::plan::{Kept, Pins, Step, plan};
use crate::rotation::{RotationName, Turn};
use crate::rules::{Wanted, What};
use crate::store::Rotations;

/// The whole of `mesh-vault_credentials` as it should be.
///
/// What is kept and wanted by nobody for certain is in it too, so that it is never told as gone while
/// it may yet be wanted.
pub fn records(
    wanted: &Wanted,
    kept: &Kept,
    pinned: &Pins,
    rotations: &Rotations,
) -> BTreeMap<CredentialKey, CredentialRecord> {
    let waits = waits(wanted, kept, pinned);
    let keys = wanted.entries.keys().chain(kept.keys());
    let record = |key: &CredentialKey| {
        let live = kept.get(key).map(Vec::as_slice).unwrap_or_default();
        let turn = turn(rotations, key).map(|turn| turn.number);
        (key.clone(), CredentialRecord { turn, ..record(key, live, waits.get(key).cloned()) })
    };
    keys.map(record).collect()
}

/// What each provider should notice, by its key in the bucket: that something of its consumers' credentials has changed.
pub fn consumers(kept: &Kept, rotations: &Rotations) -> BTreeMap<String, ConsumersRecord> {
    let mut of: BTreeMap<(&Provider, &ProvisionName), Vec<_>> = BTreeMap::new();
    for (key, live) in kept {
        if let Some(Origin::Credential { provider, provision, .. }) = live.last().map(|one| &one.origin) {
            let ids: Vec<&str> = live.iter().map(|one| one.id.as_str()).collect();
            let newest = turn(rotations, key).map(|turn| turn.to.as_str());
            of.entry((provider, provision)).or_default().push((key.to_string(), ids, newest));
        }
    }
    let record = |((provider, provision), all): ((&Provider, &ProvisionName), Vec<_>)| {
        let name = format!("consumers.{provision}");
        let (node, module) = (provider.node.clone(), provider.module.clone());
        let key = format!("{node}.{module}.{}", encode_token(&name));
        (key, ConsumersRecord { v: V1, node, module, name, digest: Digest::of_json(&all) })
    };
    of.into_iter().map(record).collect()
}

fn turn<'a>(rotations: &'a Rotations, key: &CredentialKey) -> Option<&'a Turn> {
    rotations.get(&RotationName::of(key))?.between.get(&key.node)
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
        turn: None,
        why,
    }
}

#[cfg(test)]
mod tests;

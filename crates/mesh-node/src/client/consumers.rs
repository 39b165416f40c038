//! The consumers file: what a provisioner reads (`contracts.md` §6).
//!
//! Who and what stand in the assignment; the vault adds the credentials, the `collect` bucket whose node has taken it up.
//! A consumer that has no credential yet is not in the file: its provisioner could do nothing for it.

use mesh_model::key::{CredentialKey, Entry};
use mesh_model::name::ProvisionName;
use mesh_model::wire::{
    Assignment, Collect, Consumer, ConsumerCredentials, Contribution, Delivered, Give, Provider,
};
use mesh_seal::Sealed;
use serde_json::{Map, Value, json};

use super::inputs::{Asked, Inputs};
use super::opener::{Opened, Opener};
use super::resolve::{Found, Known, said};

/// The consumers of a provision with their credentials: `${consumers.…}`.
pub(super) fn with_credentials(
    assignment: &Assignment,
    inputs: &Inputs,
    opener: &mut Opener,
    provision: &ProvisionName,
) -> Found {
    let answered = match inputs.consumers.get(provision) {
        None => return Err("the vault was not asked for the consumers yet".to_owned()),
        Some(Asked::NotYet(why)) => return Err(why.clone()),
        Some(Asked::Answer(answered)) => answered,
    };
    if !needs_credentials(assignment, provision) {
        let entries = of(assignment, provision).map(|consumer| entry(consumer, vec![])).collect();
        return Ok(Known::plain(file(assignment, provision, entries)));
    }
    let mut entries = Vec::new();
    for consumer in of(assignment, provision) {
        let Some(delivered) = delivered_to(consumer, answered) else { continue };
        let key = CredentialKey {
            node: consumer.node.clone(),
            module: consumer.module.clone(),
            entry: Entry::Need(consumer.local.clone()),
        };
        let opened = opener.open(&key, delivered).map_err(|error| said(&error))?;
        entries.push(entry(consumer, opened.iter().map(credential).collect()));
    }
    Ok(Known::secret(file(assignment, provision, entries)))
}

/// The consumers of a provision whose node has taken up what it contributes: `${contribution.…}`.
pub(super) fn without_credentials(
    assignment: &Assignment,
    provision: &ProvisionName,
    taken_up: &[Collect],
) -> Value {
    let ours = Provider { module: assignment.module.clone(), node: assignment.node.clone() };
    let has_taken_up = |consumer: &&Consumer| {
        taken_up
            .iter()
            .filter(|record| record.node == consumer.node && record.contributor == consumer.module)
            .flat_map(|record| &record.items)
            .filter_map(|item| serde_json::from_value::<Contribution>(item.clone()).ok())
            .any(|item| {
                item.provider == ours && item.local == consumer.local && item.revision == consumer.revision
            })
    };
    let entries = of(assignment, provision).filter(has_taken_up).map(|consumer| entry(consumer, vec![]));
    file(assignment, provision, entries.collect())
}

fn of<'a>(assignment: &'a Assignment, provision: &'a ProvisionName) -> impl Iterator<Item = &'a Consumer> {
    assignment.consumers.iter().filter(move |consumer| consumer.provision == *provision)
}

/// Whether the vault makes anything for a consumer of this provision.
pub(super) fn needs_credentials(assignment: &Assignment, provision: &ProvisionName) -> bool {
    let given = assignment.provides.get(provision).into_iter().flat_map(|provided| provided.gives.values());
    given.into_iter().any(|give| matches!(give, Give::Secret { .. }))
}

fn delivered_to<'a>(
    consumer: &Consumer,
    answered: &'a [ConsumerCredentials<Sealed>],
) -> Option<&'a [Delivered<Sealed>]> {
    let theirs = answered.iter().find(|one| one.is_of(consumer))?;
    (!theirs.credentials.is_empty()).then_some(&theirs.credentials)
}

fn credential(opened: &Opened) -> Value {
    let text = |secret: &mesh_seal::Secret| secret.expose_text().unwrap_or_default().to_owned();
    let secrets: Map<String, Value> =
        opened.fields.iter().map(|(name, secret)| (name.to_owned(), Value::String(text(secret)))).collect();
    json!({"id": opened.id, "secrets": secrets})
}

fn entry(consumer: &Consumer, credentials: Vec<Value>) -> Value {
    json!({
        "node": consumer.node, "module": consumer.module, "local": consumer.local,
        "machine": consumer.machine, "contribution": consumer.contribution,
        "revision": consumer.revision, "credentials": credentials,
    })
}

fn file(assignment: &Assignment, provision: &ProvisionName, consumers: Vec<Value>) -> Value {
    let provider = json!({"node": assignment.node, "module": assignment.module});
    json!({"v": 1, "provision": provision, "provider": provider, "consumers": consumers})
}

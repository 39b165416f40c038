//! A provisioner's answers, on their way to the bus: which of them may be carried, and what is wrong with the others.
//!
//! An answer for somebody who is not a consumer, to another revision, or without a field that the provision gives is not
//! carried, and is said as the provider's fault. What the consumer had before stays until there is a good answer, or
//! until it is no longer a consumer.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::digest::Digest;
use mesh_model::key::{BoundKey, ModuleKey};
use mesh_model::name::{FieldName, LocalName, ModuleName, NodeName, ProvisionName};
use mesh_model::wire::{Assignment, Bound, Consumer, Give, Provided, Timestamp, V1};
use serde::Deserialize;
use serde_json::Value;

/// The longest answers file that is read, in bytes: some fifty thousand answers.
pub const MAX_ANSWERS: u64 = 16 * 1024 * 1024;
/// The longest values, or error, or id of a credential that one answer may carry, in bytes: less than a value on the bus.
const MAX_CARRIED: usize = 64 * 1024;
/// So much of what a provisioner wrote is told of it, in characters.
const TOLD: usize = 400;
/// So many faults are told one by one.
const FAULTS: usize = 20;

/// What a provisioner wrote.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Answers {
    /// The version of this shape.
    pub v: V1,
    /// One answer a consumer. Each is read for itself, so that one that is out of shape harms no other.
    pub answers: Vec<Value>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Answer {
    node: NodeName,
    module: ModuleName,
    local: LocalName,
    revision: Option<Digest>,
    credential: Option<String>,
    values: Option<BTreeMap<String, Value>>,
    why: Option<String>,
    error: Option<String>,
}

/// What is to be on the bus, and what is wrong with the rest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Carried {
    /// The answers that are carried.
    pub bound: BTreeMap<BoundKey, Bound>,
    /// The keys of this provider's consumers: what is under any other is taken back.
    pub consumers: BTreeSet<BoundKey>,
    /// What is the provider's fault, a line each.
    pub faults: Vec<String>,
    /// Who is answered still, and is no consumer any more: the provisioner has not taken them back yet.
    pub left: BTreeSet<ModuleKey>,
}

/// Reads the answers for one provision of an assignment. `text` is none where there is no file yet.
#[must_use]
pub fn carry(
    assignment: &Assignment,
    provision: &ProvisionName,
    text: Option<&[u8]>,
    at: Timestamp,
) -> Carried {
    let consumers: BTreeMap<BoundKey, &Consumer> = assignment
        .consumers
        .iter()
        .filter(|consumer| consumer.provision == *provision)
        .map(|consumer| (key(consumer), consumer))
        .collect();
    let mut carried = Carried { consumers: consumers.keys().cloned().collect(), ..Carried::default() };
    let (Some(text), Some(provided)) = (text, assignment.provides.get(provision)) else { return carried };
    let answers: Answers = match serde_json::from_slice(text) {
        Ok(answers) => answers,
        Err(error) => {
            carried.faults.push(brief(format!("the answers file of `{provision}` cannot be read: {error}")));
            return carried;
        }
    };
    for answer in answers.answers {
        match one(assignment, provision, provided, &consumers, answer, at) {
            Ok(One::Carried(key, bound)) => {
                carried.bound.insert(key, *bound);
            }
            Ok(One::Left(key)) => drop(carried.left.insert(key)),
            Ok(One::Earlier) => {}
            Err(fault) => carried.faults.push(brief(fault)),
        }
    }
    if carried.faults.len() > FAULTS {
        let more = carried.faults.len() - FAULTS;
        carried.faults.truncate(FAULTS);
        carried.faults.push(format!("and {more} more answers of `{provision}` are at fault"));
    }
    carried
}

/// As much of a text as anybody reads: what a provisioner writes may be of any length.
fn brief(text: String) -> String {
    match text.char_indices().nth(TOLD) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

/// The key under which a consumer finds its answer.
#[must_use]
pub fn key(consumer: &Consumer) -> BoundKey {
    BoundKey {
        node: consumer.node.clone(),
        module: consumer.module.clone(),
        provision: consumer.provision.clone(),
        local: consumer.local.clone(),
    }
}

/// What one answer comes to.
enum One {
    /// It is carried.
    Carried(BoundKey, Box<Bound>),
    /// It is to an earlier contribution, and passed over.
    Earlier,
    /// It is for somebody who is no consumer any more. Just taken off, one is still in the answers until the next pass of the
    /// provisioner: no fault.
    Left(ModuleKey),
}

/// One answer, or what is wrong with it.
fn one(
    assignment: &Assignment,
    provision: &ProvisionName,
    provided: &Provided,
    consumers: &BTreeMap<BoundKey, &Consumer>,
    answer: Value,
    at: Timestamp,
) -> Result<One, String> {
    let answer: Answer = serde_json::from_value(answer)
        .map_err(|error| format!("an answer of `{provision}` is out of shape: {error}"))?;
    let whom = format!("{}.{} of {}", answer.module, answer.local, answer.node);
    let key = BoundKey {
        node: answer.node.clone(),
        module: answer.module.clone(),
        provision: provision.clone(),
        local: answer.local.clone(),
    };
    let Some(consumer) = consumers.get(&key) else {
        return Ok(One::Left(ModuleKey { node: answer.node, module: answer.module }));
    };
    if answer.revision.as_ref().is_some_and(|revision| *revision != consumer.revision) {
        return Ok(One::Earlier);
    }
    let error = answer.error.map(brief);
    let values = match (&error, answer.values) {
        (Some(_), _) => None,
        (None, None) => return Err(format!("the answer for {whom} has neither `values` nor `error`")),
        (None, Some(values)) => Some(fields(provided, values, &whom)?),
    };
    let needs_credential = provided.gives.values().any(|give| matches!(give, Give::Secret { .. }));
    if values.is_some() && needs_credential && answer.credential.is_none() {
        return Err(format!("the answer for {whom} does not say which `credential` it is for"));
    }
    let length =
        values.iter().flatten().map(|(field, value)| field.as_str().len() + value.len()).sum::<usize>()
            + answer.credential.as_ref().map_or(0, String::len);
    if length > MAX_CARRIED {
        return Err(format!("the answer for {whom} has {length} bytes, more than {MAX_CARRIED}"));
    }
    let bound = Bound {
        v: V1,
        node: answer.node,
        module: answer.module,
        provision: provision.clone(),
        local: answer.local,
        by: assignment.node.clone(),
        revision: consumer.revision.clone(),
        values,
        credential: answer.credential,
        why: answer.why.map(brief),
        error,
        at,
    };
    Ok(One::Carried(key, Box::new(bound)))
}

/// The fields that the provision gives, all of them and no others.
fn fields(
    provided: &Provided,
    mut values: BTreeMap<String, Value>,
    whom: &str,
) -> Result<BTreeMap<FieldName, String>, String> {
    let given = provided.gives.iter().filter(|(_, give)| matches!(give, Give::Value));
    given
        .map(|(field, _)| {
            let value = values.remove(field.as_str());
            let value = value.ok_or_else(|| format!("the answer for {whom} lacks `{field}`"))?;
            let text = mesh_model::filter::plain(&value)
                .ok_or_else(|| format!("`{field}` in the answer for {whom} is not text"))?;
            Ok((field.clone(), text))
        })
        .collect()
}

#[cfg(test)]
mod tests;

//! Which domain answers which kind: the table, and the steps that make the bucket say what it says.
//!
//! A client knows nothing of this table: it reads the bucket. `module`, `consumer` and `gives` are not in it, since the
//! plan itself answers them before anything reaches a node.

use std::collections::BTreeMap;

use mesh_model::kind::Kind;
use mesh_model::wire::{Registration, Source, V1};
use serde_json::Value;

/// The seat that decides where things are.
const CONTROLLER: &str = "mesh-controller";
/// The seat that keeps what is sealed.
const VAULT: &str = "mesh-vault";
/// This seat.
const PROVISIONER: &str = "mesh-provisioner";
/// Whichever module provides what is needed.
const PROVIDER: &str = "<provider>";

const ASSIGNMENTS: &str = "mesh-controller_assignments";
const COLLECT: &str = "mesh-provisioner_collect";
const MODULE_KEY: &str = "<node>.<module>";

/// Every kind that a domain answers, and where its values are.
#[must_use]
pub fn table() -> Vec<Registration> {
    let assigned = |kind, field| bucket(kind, CONTROLLER, ASSIGNMENTS, MODULE_KEY, field);
    let collected = |kind| bucket(kind, PROVISIONER, COLLECT, "<node>.<collection>.*", "items");
    vec![
        bucket(Kind::Config, CONTROLLER, "mesh-controller_config", MODULE_KEY, "values"),
        verb(Kind::Secret, VAULT, "mesh-vault.secret"),
        bucket(
            Kind::Bound,
            PROVIDER,
            "<provider-module>_bound",
            "<node>.<module>.<provision>[.<local>]",
            "values",
        ),
        verb(Kind::Consumers, VAULT, "mesh-vault.consumers"),
        bucket(Kind::Contribution, PROVISIONER, COLLECT, "*.<collection>.*", "items"),
        collected(Kind::Collected),
        collected(Kind::Shell),
        collected(Kind::Environment),
        assigned(Kind::Dir, "dirs"),
        assigned(Kind::File, "files"),
        assigned(Kind::Port, "ports"),
        assigned(Kind::Access, "access"),
        assigned(Kind::Seat, "seats"),
        assigned(Kind::Machine, "machine"),
    ]
}

fn bucket(kind: Kind, owner: &str, bucket: &str, key: &str, field: &str) -> Registration {
    let source = Source::Bucket { bucket: bucket.to_owned(), key: key.to_owned(), field: field.to_owned() };
    Registration { v: V1, kind, owner: owner.to_owned(), source }
}

fn verb(kind: Kind, owner: &str, verb: &str) -> Registration {
    Registration { v: V1, kind, owner: owner.to_owned(), source: Source::Verb { verb: verb.to_owned() } }
}

/// One thing to do to the bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Write what the table says of a kind.
    Write(Registration),
    /// Delete what no domain answers.
    Delete(String),
}

/// What makes the bucket say what the table says: nothing where it does. Values that read the same are the same.
#[must_use]
pub fn steps<'a>(table: &[Registration], bucket: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<Step> {
    let mut wanted: BTreeMap<&str, &Registration> =
        table.iter().map(|registration| (registration.kind.as_str(), registration)).collect();
    let mut steps = Vec::new();
    for (key, value) in bucket {
        match wanted.remove(key) {
            None => steps.push(Step::Delete(key.to_owned())),
            Some(registration) if says(value, registration) => {}
            Some(registration) => steps.push(Step::Write(registration.clone())),
        }
    }
    steps.extend(wanted.into_values().cloned().map(Step::Write));
    steps
}

/// Whether a value says exactly this. A field beside it is somebody's doing too.
fn says(value: &[u8], registration: &Registration) -> bool {
    let wanted = serde_json::to_value(registration).expect("plain data serializes");
    serde_json::from_slice::<Value>(value).is_ok_and(|value| value == wanted)
}

#[cfg(test)]
mod tests;

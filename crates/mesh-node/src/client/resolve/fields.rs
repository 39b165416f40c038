//! How the records of a bucket become the value of a placeholder, a kind each.

use mesh_model::placeholder::Reference;
use mesh_model::wire::{Assignment, Collect, Config};
use serde_json::Value;

use super::super::consumers;
use super::{Found, Known};

/// Reads the value of a reference from the records that its lookup found.
pub(super) fn read(
    assignment: &Assignment,
    reference: &Reference,
    field: &str,
    records: &[(String, Value)],
) -> Found {
    match reference {
        Reference::Collected(_) | Reference::Shell(_) | Reference::Environment(_) => items(field, records),
        Reference::Contribution(provision) => {
            let taken_up =
                records.iter().filter_map(|(_, record)| serde_json::from_value(record.clone()).ok());
            let taken_up: Vec<Collect> = taken_up.collect();
            Ok(Known::plain(consumers::without_credentials(assignment, provision, &taken_up)))
        }
        _ => one(assignment, reference, field, records),
    }
}

/// The items of every contributor, in the order of their keys.
fn items(field: &str, records: &[(String, Value)]) -> Found {
    let lists = records.iter().filter_map(|(_, record)| record.get(field).and_then(Value::as_array));
    Ok(Known::plain(Value::Array(lists.flatten().cloned().collect())))
}

fn one(assignment: &Assignment, reference: &Reference, field: &str, records: &[(String, Value)]) -> Found {
    let kind = reference.kind();
    let (key, record) = records.first().ok_or_else(|| format!("there is no value for `{kind}` yet"))?;
    let lacks = || format!("the value under `{key}` lacks `{field}` for `{reference}`");
    let all = record.get(field).ok_or_else(lacks)?;
    let found = match reference {
        Reference::Config(name) => {
            in_step(assignment, record)?;
            all.get(name.as_str())
        }
        Reference::Dir(name) => all.get(name.as_str()).and_then(|dir| dir.get("path")),
        Reference::File(path) => {
            all.get(path.as_str()).ok_or_else(lacks)?;
            let folder = record.get("folder").and_then(Value::as_str).ok_or_else(lacks)?;
            return Ok(Known::plain(Value::String(format!("{folder}/files/{path}"))));
        }
        other => all.get(other.need_name()),
    };
    found.cloned().map(Known::plain).ok_or_else(lacks)
}

/// Settings and assignment are two values: they are rendered together or not at all.
fn in_step(assignment: &Assignment, record: &Value) -> Result<(), String> {
    let config: Config = serde_json::from_value(record.clone())
        .map_err(|error| format!("the settings cannot be read: {error}"))?;
    match config.digest() == assignment.settings {
        true => Ok(()),
        false => Err("the settings of this assignment are not here yet".to_owned()),
    }
}

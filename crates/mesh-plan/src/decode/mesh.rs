//! Reads `mesh.yaml`.

use std::net::IpAddr;
use std::ops::{Range, RangeInclusive};

use mesh_model::name::NodeName;
use mesh_model::refusal::Code;
use mesh_model::wire::Provider;

use super::Reading;
use crate::mesh::{Assign, Binding, Machine, MeshFile, PORTS, Settings};
use crate::shape;
use crate::text::At;
use crate::yaml::{Entry, Node, Value};

/// Reads what the root of `mesh.yaml` says.
pub(crate) fn read(reading: &mut Reading<'_>, root: &Node) -> MeshFile {
    let mut file = MeshFile::default();
    let Some(fields) = reading.place(root, &shape::MESH) else { return file };
    match fields.get("mesh") {
        Some(node) => file.mesh = reading.named(node, "`mesh`").map(|name| name.value),
        None => {
            let span = 0..0;
            reading.missing(
                &fields,
                "mesh",
                &span,
                "add a first line with its name: `mesh: home`".to_owned(),
            );
        }
    }
    if let Some(node) = fields.get("nodes") {
        nodes(reading, node, &mut file);
    }
    if let Some(node) = fields.get("assign") {
        let entries = reading.entries(node, "`assign`").unwrap_or_default();
        file.assign = entries.iter().filter_map(|entry| assign(reading, entry, &file)).collect();
    }
    if let Some(node) = fields.get("config") {
        let entries = reading.entries(node, "`config`").unwrap_or_default();
        file.config = entries.iter().filter_map(|entry| settings(reading, entry)).collect();
    }
    if let Some(node) = fields.get("bind") {
        let entries = reading.entries(node, "`bind`").unwrap_or_default();
        file.bind = entries.iter().filter_map(|entry| binding(reading, entry)).collect();
    }
    if let Some(node) = fields.get("escrow") {
        file.escrow =
            reading.items(node, "`escrow`").iter().filter_map(|item| recipient(reading, item)).collect();
    }
    file
}

fn nodes(reading: &mut Reading<'_>, node: &Node, file: &mut MeshFile) {
    for entry in reading.entries(node, "`nodes`").unwrap_or_default() {
        match reading.name::<NodeName>(&entry.key, &entry.span) {
            Some(name) => {
                let machine = machine(reading, entry);
                file.nodes.insert(name, machine);
            }
            None => {
                file.misnamed.insert(entry.key.clone());
                machine(reading, entry);
            }
        }
    }
}

fn machine(reading: &mut Reading<'_>, entry: &Entry) -> Machine {
    let mut machine = Machine { span: entry.span.clone(), address: None, ports: PORTS };
    let Some(fields) = reading.place(&entry.value, &shape::NODE) else { return machine };
    machine.address = fields.get("address").and_then(|node| address(reading, node));
    if let Some(ports) = fields.get("ports").and_then(|node| range(reading, node)) {
        machine.ports = ports;
    }
    machine
}

fn address(reading: &mut Reading<'_>, node: &Node) -> Option<String> {
    let text = reading.scalar(node, "`address`")?.text.clone();
    let host = |part: &str| {
        !part.is_empty()
            && part.len() <= 63
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    if text.parse::<IpAddr>().is_ok() || (text.len() <= 253 && text.split('.').all(host)) {
        return Some(text);
    }
    reading.bad_value(node, "`address`", "an IP address or a host name, without a port");
    None
}

fn range(reading: &mut Reading<'_>, node: &Node) -> Option<RangeInclusive<u16>> {
    let text = &reading.scalar(node, "`ports`")?.text;
    let ends = text.split_once('-').and_then(|(first, last)| {
        let first: u16 = first.trim().parse().ok()?;
        let last: u16 = last.trim().parse().ok()?;
        (0 < first && first <= last).then_some(first..=last)
    });
    if ends.is_none() {
        reading.bad_value(node, "`ports`", "a range like `20000-20999`");
    }
    ends
}

fn assign(reading: &mut Reading<'_>, entry: &Entry, file: &MeshFile) -> Option<Assign> {
    let module = reading.name(&entry.key, &entry.span);
    let items = match &entry.value.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(&entry.value),
    };
    let mut nodes: Vec<At<NodeName>> = Vec::new();
    for item in items {
        let Some(scalar) = reading.scalar(item, "a node in `assign`") else { continue };
        if file.misnamed.contains(&scalar.text) {
            continue;
        }
        let Some(name) = reading.name::<NodeName>(&scalar.text, &item.span) else { continue };
        if nodes.iter().any(|known| known.value == name) {
            let message = format!("`{}` is assigned to `{name}` twice", entry.key);
            let help = "a module runs on a node once: take one of the two out";
            reading.refuse_name(Code::DuplicateName, &item.span, name.as_str(), message, help);
        } else {
            nodes.push(At::new(name, &item.span));
        }
    }
    Some(Assign { module: At::new(module?, &entry.span), nodes })
}

/// `module` or `module@node`.
fn target<M: std::str::FromStr<Err: std::fmt::Display>>(
    reading: &mut Reading<'_>,
    text: &str,
    span: &Range<usize>,
) -> Option<(M, Option<NodeName>)> {
    let (module, node) = match text.split_once('@') {
        Some((module, node)) => (module, Some(node)),
        None => (text, None),
    };
    let module = reading.name(module, span)?;
    let node = match node {
        Some(node) => Some(reading.name(node, span)?),
        None => None,
    };
    Some((module, node))
}

fn settings(reading: &mut Reading<'_>, entry: &Entry) -> Option<Settings> {
    let (module, node) = target(reading, &entry.key, &entry.span)?;
    let entries = reading.entries(&entry.value, "what stands for a module in `config`")?;
    let value = |entry: &Entry| (At::new(entry.key.clone(), &entry.span), entry.value.clone());
    let values = entries.iter().map(value).collect();
    Some(Settings { span: entry.span.clone(), module, node, values })
}

fn binding(reading: &mut Reading<'_>, entry: &Entry) -> Option<Binding> {
    let Some((consumer, local)) = entry.key.split_once('.') else {
        let message = format!("`{}` does not name a need", entry.key);
        let help = "a need is `module.need`, or `module@node.need` for one node: `notes.db: postgres@attic`";
        reading.refuse_name(Code::BadName, &entry.span, &entry.key, message, help);
        return None;
    };
    let (module, node) = target(reading, consumer, &entry.span)?;
    let local = reading.name(local, &entry.span)?;
    let to = provider(reading, &entry.value);
    Some(Binding { span: entry.span.clone(), module, node, local, to })
}

fn provider(reading: &mut Reading<'_>, value: &Node) -> Option<At<Provider>> {
    let text = &reading.scalar(value, "a binding")?.text;
    let Some((module, node)) = text.split_once('@') else {
        reading.bad_value(value, "who answers", "a module on its node, like `postgres@attic`");
        return None;
    };
    let (module, node) = (reading.name(module, &value.span)?, reading.name(node, &value.span)?);
    Some(At::new(Provider { module, node }, &value.span))
}

fn recipient(reading: &mut Reading<'_>, item: &Node) -> Option<String> {
    let text = &reading.scalar(item, "a recipient")?.text;
    let key = text.strip_prefix("age1").unwrap_or_default();
    let good = key.len() == 58 && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if !good {
        reading.bad_value(item, "a recipient", "the public key of age, `age1` and 58 letters and digits");
    }
    good.then(|| text.clone())
}

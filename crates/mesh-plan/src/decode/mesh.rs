//! Reads `mesh.yaml`.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use mesh_model::name::{ModuleName, NodeName};
use mesh_model::refusal::Code;
use mesh_model::wire::Provider;

mod escrow;

use super::Reading;
use crate::mesh::{Assign, Binding, Machine, MeshFile, PORTS, Settings};
use crate::shape;
use crate::span::Span;
use crate::text::At;
use crate::yaml::{Entry, Node, Value};

/// Reads what the root of `mesh.yaml` says. `misnamed` are the folders of modules whose names are none, which have been
/// told where they lie.
pub(crate) fn read(reading: &mut Reading<'_>, root: &Node, misnamed: BTreeSet<String>) -> MeshFile {
    let mut file = MeshFile { misnamed, ..MeshFile::default() };
    let Some(fields) = reading.place(root, &shape::MESH) else {
        file.unsure = shape::MESH.keys.iter().map(|key| key.name).collect();
        return file;
    };
    file.unsure = shape::MESH.keys.iter().map(|key| key.name).filter(|key| fields.unsure(key)).collect();
    match fields.get("mesh") {
        Some(node) => file.mesh = reading.named(node, "`mesh`").map(|name| name.value),
        None => {
            let help = "add a first line with its name: `mesh: home`".to_owned();
            reading.missing(&fields, &["mesh"], Span::BEGINNING, help);
        }
    }
    let section = |reading: &mut Reading<'_>, key: &'static str, file: &mut MeshFile, read: Read| {
        let Some(node) = fields.get(key) else { return };
        match reading.entries(node, &format!("`{key}`")) {
            Some(entries) => entries.iter().for_each(|entry| read(reading, entry, file)),
            None => drop(file.unsure.insert(key)),
        }
    };
    section(reading, "nodes", &mut file, node);
    section(reading, "assign", &mut file, assign);
    section(reading, "config", &mut file, settings);
    section(reading, "bind", &mut file, binding);
    if let Some(node) = fields.get("escrow") {
        file.escrow = escrow::read(reading, node);
    }
    file
}

/// Reads an entry of a section.
type Read = fn(&mut Reading<'_>, &Entry, &mut MeshFile);

fn node(reading: &mut Reading<'_>, entry: &Entry, file: &mut MeshFile) {
    let machine = machine(reading, entry);
    match reading.name::<NodeName>(&entry.key, entry.span) {
        Some(name) => drop(file.nodes.insert(name, machine)),
        None => drop(file.misnamed.insert(entry.key.clone())),
    }
}

fn machine(reading: &mut Reading<'_>, entry: &Entry) -> Machine {
    let mut machine = Machine { span: entry.span, address: None, ports: PORTS, unsure: true };
    let Some(fields) = reading.place(&entry.value, &shape::NODE) else { return machine };
    let written = fields.get("address");
    machine.address = written.and_then(|node| address(reading, node));
    machine.unsure =
        entry.again || fields.unsure("address") || written.is_some() != machine.address.is_some();
    if let Some(ports) = fields.get("ports").and_then(|node| range(reading, node)) {
        machine.ports = ports;
    }
    machine
}

fn address(reading: &mut Reading<'_>, node: &Node) -> Option<String> {
    let text = &reading.scalar(node, "`address`")?.text;
    let found = reached_at(text);
    if found.is_none() {
        reading.bad_value(node, "`address`", "an IP address or a host name, without a port");
    }
    found
}

/// An address in its one spelling: two nodes with one address share its ports, however each of them writes it.
fn reached_at(text: &str) -> Option<String> {
    if let Ok(address) = text.parse::<IpAddr>() {
        // The one that stands for all of a machine's own is none that another machine could go to.
        return (!address.is_unspecified()).then(|| address.to_string());
    }
    let part = |part: &str| {
        !part.is_empty()
            && part.len() <= 63
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    // A name whose last part is a number is an IP address that went wrong: no resolver takes it for a name.
    let last = text.rsplit('.').next().unwrap_or_default();
    let host = text.len() <= 253 && text.split('.').all(part) && !last.bytes().all(|b| b.is_ascii_digit());
    host.then(|| text.to_ascii_lowercase())
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

fn assign(reading: &mut Reading<'_>, entry: &Entry, file: &mut MeshFile) {
    if file.misnamed.contains(&entry.key) {
        return;
    }
    let module = reading.name(&entry.key, entry.span);
    let items = match &entry.value.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(&entry.value),
    };
    let mut nodes: Vec<At<NodeName>> = Vec::new();
    let mut unsure = entry.again;
    for item in items {
        let scalar = reading.scalar(item, "a node in `assign`");
        let known = scalar.filter(|scalar| !file.misnamed.contains(&scalar.text));
        let Some(name) = known.and_then(|scalar| reading.name::<NodeName>(&scalar.text, item.span)) else {
            unsure = true;
            continue;
        };
        if nodes.iter().any(|known| known.value == name) {
            let message = format!("`{}` is assigned to `{name}` twice", entry.key);
            let help = "a module runs on a node once: take one of the two out";
            reading.refuse_name(Code::DuplicateName, item.span, name.as_str(), message, help);
        } else {
            nodes.push(At::new(name, item.span));
        }
    }
    match module {
        Some(module) => file.assign.push(Assign { module: At::new(module, entry.span), nodes, unsure }),
        None => file.strangers.push(("assign", entry.key.clone())),
    }
}

/// `module` or `module@node`. What is none is kept as a stranger of its section.
fn target(
    reading: &mut Reading<'_>,
    text: &str,
    span: Span,
    section: &'static str,
    file: &mut MeshFile,
) -> Option<(ModuleName, Option<NodeName>)> {
    let (module, node) = match text.split_once('@') {
        Some((module, node)) => (module, Some(node)),
        None => (text, None),
    };
    if file.misnamed.contains(module) || node.is_some_and(|node| file.misnamed.contains(node)) {
        return None;
    }
    let read = match node {
        Some(node) => reading
            .name(module, span)
            .and_then(|module| Some((module, Some(reading.name::<NodeName>(node, span)?)))),
        None => reading.name(module, span).map(|module| (module, None)),
    };
    if read.is_none() {
        file.strangers.push((section, module.to_owned()));
    }
    read
}

fn settings(reading: &mut Reading<'_>, entry: &Entry, file: &mut MeshFile) {
    let target = target(reading, &entry.key, entry.span, "config", file);
    let entries = reading.entries(&entry.value, "what stands for a module in `config`");
    let Some((module, node)) = target else { return };
    let value = |entry: &Entry| (At::new(entry.key.clone(), entry.span), entry.value.clone());
    let values = entries.unwrap_or_default().iter().map(value).collect();
    let unsure = entry.again || entries.is_none();
    file.config.push(Settings { span: entry.span, module, node, values, unsure });
}

fn binding(reading: &mut Reading<'_>, entry: &Entry, file: &mut MeshFile) {
    let Some((consumer, local)) = entry.key.split_once('.') else {
        let message = format!("`{}` does not name a need", entry.key);
        let help = "a need is `module.need`, or `module@node.need` for one node: `notes.db: postgres@attic`";
        reading.refuse_name(Code::BadName, entry.span, &entry.key, message, help);
        let module = entry.key.split('@').next().unwrap_or_default();
        file.strangers.push(("bind", module.to_owned()));
        return;
    };
    let target = target(reading, consumer, entry.span, "bind", file);
    let name = reading.name(local, entry.span);
    let to = provider(reading, &entry.value);
    match (target, name) {
        (Some((module, node)), Some(local)) => {
            file.bind.push(Binding { span: entry.span, module, node, local, to })
        }
        (Some((module, _)), None) => file.strangers.push(("bind", module.to_string())),
        (None, _) => {}
    }
}

fn provider(reading: &mut Reading<'_>, value: &Node) -> Option<At<Provider>> {
    let text = &reading.scalar(value, "a binding")?.text;
    let Some((module, node)) = text.split_once('@') else {
        let message = format!("who answers is a module on its node, and `{text}` names no node");
        reading.refuse(Code::BadValue, value.span, message, format!("name the node too: `{text}@NODE`"));
        return None;
    };
    let (module, node) = (reading.name(module, value.span)?, reading.name(node, value.span)?);
    Some(At::new(Provider { module, node }, value.span))
}

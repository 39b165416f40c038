//! `assign` names modules and nodes that are there.

use mesh_model::refusal::{Code, Refusal};

use crate::model::{Model, wanted};
use crate::nearest::{advice, or};
use crate::span::Span;

/// `unknown-module`: one that neither lies in the folder nor ships with mesh.
pub(crate) fn unknown_modules(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for assign in &model.mesh.assign {
        let name = &assign.module.value;
        if !model.modules.contains(name) {
            let message = format!("there is no module `{name}`");
            out.push(unknown(model, name.as_str(), assign.module.span, message));
        }
    }
}

/// A refusal of a module that is nowhere, with the nearest one.
pub(crate) fn unknown(model: &Model<'_>, name: &str, span: Span, message: String) -> Refusal {
    let known = model.modules.names().chain(model.catalog.modules.keys());
    let mut known: Vec<&str> = known.map(|module| module.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let mut help = advice(name, "module in this folder, and none ships with mesh", known);
    if let Ok(module) = name.parse() {
        help = or(&help, &format!("make it: {}", wanted(&module)));
    }
    let mut refusal = model.source.refuse(Code::UnknownModule, span, message, help);
    refusal.name = Some(name.to_owned());
    refusal
}

/// `unknown-node`: one that `nodes` does not have.
pub(crate) fn unknown_nodes(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for assign in &model.mesh.assign {
        for node in assign.nodes.iter().filter(|node| model.is_no_node(&node.value)) {
            let message =
                format!("`{}` is assigned to `{}`, which is not in `nodes`", assign.module.value, node.value);
            let mut refusal = unknown_node(model, node.value.as_str(), node.span, message);
            refusal.module = Some(assign.module.value.clone());
            out.push(refusal);
        }
    }
}

/// A refusal of a node that is not there, with the nearest one.
pub(crate) fn unknown_node(model: &Model<'_>, name: &str, span: Span, message: String) -> Refusal {
    let known = model.mesh.nodes.keys().map(|node| node.as_str());
    let help = or(&advice(name, "node", known), &format!("add `{name}: {{address: …}}` to `nodes`"));
    let mut refusal = model.source.refuse(Code::UnknownNode, span, message, help);
    refusal.node = name.parse().ok();
    refusal.name = Some(name.to_owned());
    refusal
}

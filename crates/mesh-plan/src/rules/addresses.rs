//! Who has to be reached from another machine has an address.

use std::collections::BTreeMap;

use mesh_model::name::NodeName;
use mesh_model::placeholder::Reference;
use mesh_model::refusal::{Code, Refusal};

use crate::model::Model;

/// `missing-address`: of a node that provides to, or consumes from, another, or that `machine.address` or `access` asks
/// for. One for a node, with the first reason.
pub(crate) fn check(model: &Model<'_>, out: &mut Vec<Refusal>) {
    let mut why: BTreeMap<NodeName, String> = BTreeMap::new();
    provisions(model, &mut why);
    placeholders(model, &mut why);
    for (node, why) in why {
        let machine = &model.mesh.nodes[&node];
        if machine.unsure {
            continue;
        }
        let message = format!("`{node}` has no address, and {why}");
        let help = format!("say where the other nodes reach it: `{node}: {{address: 192.168.1.10}}`");
        let mut refusal = model.source.refuse(Code::MissingAddress, machine.span, message, help);
        refusal.node = Some(node);
        out.push(refusal);
    }
}

fn provisions(model: &Model<'_>, why: &mut BTreeMap<NodeName, String>) {
    for run in &model.runs {
        for answer in &run.answers {
            let (key, from) = (&run.key, &model.runs[answer.by].key);
            if key.node == from.node {
                continue;
            }
            let provision = &answer.provision;
            if model.address(&key.node).is_none() {
                let text = format!(
                    "`{}` on it needs `{provision}` of `{}` on `{}`",
                    key.module, from.module, from.node
                );
                why.entry(key.node.clone()).or_insert(text);
            }
            if model.address(&from.node).is_none() {
                let text = format!(
                    "`{}` on it provides `{provision}` to `{}` on `{}`",
                    from.module, key.module, key.node
                );
                why.entry(from.node.clone()).or_insert(text);
            }
        }
    }
}

fn placeholders(model: &Model<'_>, why: &mut BTreeMap<NodeName, String>) {
    for module in model.modules.iter() {
        for placeholder in module.placeholders() {
            let access = match &placeholder.reference {
                Reference::MachineAddress => None,
                Reference::Access(access) => Some(access),
                _ => continue,
            };
            for run in model.runs_of(module.name()) {
                let here = &run.key.node;
                let asked = match access {
                    None => Some(here),
                    Some(access) => model
                        .accessed(here, access)
                        .map(|there| &there.key.node)
                        .filter(|there| *there != here),
                };
                if let Some(asked) = asked.filter(|asked| model.address(asked).is_none()) {
                    let text = format!("`{}` asks for `${{{}}}`", module.name(), placeholder.reference);
                    why.entry(asked.clone()).or_insert(text);
                }
            }
        }
    }
}

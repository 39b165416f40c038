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
    for (key, answers) in &model.answers {
        for (local, from) in answers.iter().filter(|(_, from)| from.node != key.node) {
            let need = &model.module(&key.module).manifest.needs[local].value.provision;
            let Some(provision) = need else { continue };
            let provision = &provision.value;
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
    for (name, module) in &model.modules {
        let nodes = model.nodes_of(name);
        for (_, text, _) in module.texts() {
            for (placeholder, _) in text.placeholders() {
                for node in nodes {
                    let asked = match &placeholder.reference {
                        Reference::MachineAddress => Some(node),
                        Reference::Access(access) => {
                            model.access_node(node, access).filter(|there| *there != node)
                        }
                        _ => None,
                    };
                    if let Some(asked) = asked.filter(|asked| model.address(asked).is_none()) {
                        let text = format!("`{name}` asks for `${{{}}}`", placeholder.reference);
                        why.entry(asked.clone()).or_insert(text);
                    }
                }
            }
        }
    }
}

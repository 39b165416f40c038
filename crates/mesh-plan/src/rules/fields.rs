//! The fields that a provision gives: which are secret, and whether each can be put together.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::name::{FieldName, LocalName, ModuleName, ProvisionName};
use mesh_model::placeholder::Reference;
use mesh_model::refusal::{Code, Refusal};
use mesh_model::wire::Give;

use crate::manifest::{Gives, Provision};
use crate::model::Model;
use crate::nearest::advice;
use crate::span::Span;
use crate::text::Text;

/// What the providers of a need make, one each: of those that answer it where its module runs; where it runs nowhere, of
/// all that could.
pub(crate) fn answering<'m>(
    model: &'m Model<'_>,
    module: &ModuleName,
    local: &LocalName,
    provision: &ProvisionName,
) -> Vec<&'m Provision> {
    let nodes = model.nodes_of(module);
    let mut by: BTreeSet<&ModuleName> = BTreeSet::new();
    for node in nodes {
        let key = mesh_model::key::ModuleKey { node: node.clone(), module: module.clone() };
        by.extend(model.answers.get(&key).and_then(|answers| answers.get(local)).map(|from| &from.module));
    }
    if nodes.is_empty() {
        by.extend(model.modules.keys());
    }
    by.into_iter().filter_map(|module| model.provision(module, provision)).collect()
}

/// The fields that `from` puts a field together from.
fn sources(text: &Text) -> impl Iterator<Item = &FieldName> {
    text.placeholders().filter_map(|(placeholder, _)| match &placeholder.reference {
        Reference::Gives(field) => Some(field),
        _ => None,
    })
}

/// The fields that are secret: those that the vault makes, and those that are put together from one, directly or not.
pub(crate) fn secrets(provision: &Provision) -> BTreeSet<FieldName> {
    let made = provision.gives.iter().filter(|(_, give)| matches!(give.value, Gives::Secret { .. }));
    let mut secret: BTreeSet<FieldName> = made.map(|(name, _)| name.clone()).collect();
    loop {
        let more = provision.gives.iter().filter(|(name, give)| match &give.value {
            Gives::From(text) => {
                !secret.contains(*name) && sources(text).any(|source| secret.contains(source))
            }
            _ => false,
        });
        let more: Vec<FieldName> = more.map(|(name, _)| name.clone()).collect();
        if more.is_empty() {
            return secret;
        }
        secret.extend(more);
    }
}

/// The fields as an assignment says them.
pub(crate) fn gives(provision: &Provision) -> BTreeMap<FieldName, Give> {
    let secret = secrets(provision);
    let give = |(name, give): (&FieldName, &crate::text::At<Gives>)| {
        let give = match &give.value {
            Gives::Value => Give::Value,
            Gives::Secret { length, alphabet } => Give::Secret { length: *length, alphabet: *alphabet },
            Gives::From(text) => {
                Give::From { template: text.text.to_string(), secret: secret.contains(name) }
            }
        };
        (name.clone(), give)
    };
    provision.gives.iter().map(give).collect()
}

/// `bad-placeholder`: fields that are put together from each other; `unknown-placeholder`: from one of another provision.
pub(crate) fn circles(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for module in model.modules.values() {
        for provision in module.manifest.provides.values() {
            let mut found = Vec::new();
            strangers(&provision.value, &mut found);
            circle(&provision.value, &mut found);
            for (code, span, name, message, help) in found {
                let mut refusal = module.source.refuse(code, span, message, help);
                refusal.name = Some(name.to_string());
                out.push(refusal);
            }
        }
    }
}

type Found<'a> = (Code, Span, &'a FieldName, String, String);

/// Every field that is put together.
fn composed(provision: &Provision) -> impl Iterator<Item = (&FieldName, &Text)> {
    provision.gives.iter().filter_map(|(name, give)| match &give.value {
        Gives::From(text) => Some((name, text)),
        _ => None,
    })
}

fn strangers<'a>(provision: &'a Provision, out: &mut Vec<Found<'a>>) {
    for (_, text) in composed(provision) {
        for (placeholder, place) in text.placeholders() {
            let Reference::Gives(field) = &placeholder.reference else { continue };
            if !provision.unsure && !provision.gives.contains_key(field) {
                let message = format!("`${{gives.{field}}}`: this provision does not give `{field}`");
                let known = provision.gives.keys().map(|field| field.as_str());
                let help = advice(field.as_str(), "field in its `gives`", known);
                out.push((Code::UnknownPlaceholder, place, field, message, help));
            }
        }
    }
}

/// What is left when every field that can be put together has been: those go round in circles.
fn circle<'a>(provision: &'a Provision, out: &mut Vec<Found<'a>>) {
    let mut left: BTreeMap<&FieldName, &Text> = composed(provision).collect();
    loop {
        let ready = left.iter().find(|(_, text)| !sources(text).any(|source| left.contains_key(source)));
        let Some(ready) = ready.map(|(name, _)| *name) else { break };
        left.remove(ready);
    }
    if let Some((name, text)) = left.iter().next() {
        let row: Vec<String> = left.keys().map(|name| format!("`{name}`")).collect();
        let message = format!("these fields are put together from each other: {}", row.join(", "));
        let help = "let one of them be answered by the provider, without `from`".to_owned();
        out.push((Code::BadPlaceholder, text.span, name, message, help));
    }
}

//! The fields that a provision gives: which are secret, and whether each can be put together.

use std::collections::BTreeMap;

use mesh_model::name::{FieldName, LocalName, ModuleName, ProvisionName};
use mesh_model::placeholder::Reference;
use mesh_model::refusal::{Code, Refusal};

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
    let runs = model.runs_of(module);
    let mut by: Vec<usize> = match runs.len() {
        0 => (0..model.modules.0.len()).collect(),
        _ => runs.filter_map(|run| Some(model.runs[run.answer(local)?.by].module)).collect(),
    };
    by.sort_unstable();
    by.dedup();
    let made = |place: usize| model.modules.0[place].manifest.provides.get(provision).map(|at| &at.value);
    by.into_iter().filter_map(made).collect()
}

/// The fields that `from` puts a field together from.
pub(crate) fn sources(text: &Text) -> impl Iterator<Item = &FieldName> {
    text.placeholders().filter_map(|(placeholder, _)| match &placeholder.reference {
        Reference::Gives(field) => Some(field),
        _ => None,
    })
}

/// `bad-placeholder`: fields that are put together from each other; `unknown-placeholder`: from one of another provision.
pub(crate) fn circles(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for module in model.modules.iter() {
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

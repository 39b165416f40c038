//! A list that `lines` writes has no item with a line break in it: that would be two items to whoever reads them.

use mesh_model::filter::Filter;
use mesh_model::name::{CollectionName, ModuleName, NodeName};
use mesh_model::placeholder::{Placeholder, Reference};
use mesh_model::refusal::{Code, Refusal};
use serde_json::Value;

use crate::model::Model;
use crate::runs::Run;
use crate::scope::Scope;

fn breaks(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// `bad-placeholder`: a setting that is written as lines, and is a list with such an item.
pub(crate) fn settings(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for run in &model.runs {
        let (key, settings) = (&run.key, &run.settings);
        let broken = |value: &Value| {
            let mut items = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            items.position(breaks)
        };
        let broken = settings.iter().filter_map(|(name, value)| Some((name, broken(value)?)));
        for (name, item) in broken {
            let module = model.module(run);
            for (_, text, source) in module.texts() {
                let written = text.placeholders().filter(|(placeholder, _)| is_written(placeholder));
                let written = written.filter(|(placeholder, _)| {
                    matches!(&placeholder.reference, Reference::Config(setting) if setting == name)
                });
                for (_, place) in written {
                    let message = format!(
                        "item {} of the setting `{name}` of {} holds a line break, so `lines` cannot write it",
                        item + 1,
                        key.at()
                    );
                    let help =
                        "take the line break out of the setting, or write the list with `json`".to_owned();
                    let mut refusal = source.refuse(Code::BadPlaceholder, place, message, help);
                    refusal.node = Some(key.node.clone());
                    refusal.name = Some(name.to_string());
                    out.push(refusal);
                }
            }
        }
    }
}

/// `bad-value`: an item of a collection that a module on the same node writes as lines.
pub(crate) fn collected(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for module in model.modules.iter() {
        for (collection, items) in &module.manifest.contributes {
            for run in model.runs_of(module.name()) {
                let node = &run.key.node;
                let scope = Scope::of(model, run);
                let broken = |text: &&crate::text::Text| scope.text(text).is_ok_and(|text| breaks(&text));
                for item in items.value.iter().filter(broken) {
                    let Some(reader) = reader(model, node, collection) else { continue };
                    let message = format!(
                        "this item of `{collection}` holds a line break, and `{reader}` on `{node}` writes an item a line"
                    );
                    let help = "make it several items, one for each line".to_owned();
                    let mut refusal = module.source.refuse(Code::BadValue, item.span, message, help);
                    refusal.node = Some(node.clone());
                    refusal.name = Some(collection.to_string());
                    out.push(refusal);
                }
            }
        }
    }
}

/// A module on a node that writes a collection as lines.
fn reader<'m>(model: &'m Model<'_>, node: &NodeName, collection: &CollectionName) -> Option<&'m ModuleName> {
    let mut here = model.runs.iter().filter(|run| run.key.node == *node);
    let reads = |run: &&Run| {
        let mut placeholders = model.module(run).placeholders();
        placeholders.any(|placeholder| is_written(placeholder) && is_of(&placeholder.reference, collection))
    };
    here.find(reads).map(|run| &run.key.module)
}

fn is_written(placeholder: &Placeholder) -> bool {
    placeholder.filters.first() == Some(&Filter::Lines)
}

fn is_of(reference: &Reference, collection: &CollectionName) -> bool {
    match reference {
        Reference::Collected(name) | Reference::Shell(name) | Reference::Environment(name) => {
            name == collection
        }
        _ => false,
    }
}

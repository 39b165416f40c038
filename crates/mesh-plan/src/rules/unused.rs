//! What works, but is surely not meant.

use std::collections::BTreeSet;

use mesh_model::kind::Kind;
use mesh_model::placeholder::Reference;
use mesh_model::refusal::{Code, Refusal};

use crate::manifest::Content;
use crate::model::{Model, Module};

/// `unused-module`: one that is assigned nowhere.
pub(crate) fn modules(model: &Model<'_>, out: &mut Vec<Refusal>) {
    let assigned = model.mesh.assign.iter().filter(|assign| !assign.nodes.is_empty());
    let assigned: BTreeSet<_> = assigned.map(|assign| &assign.module.value).collect();
    for module in model.modules.iter() {
        let name = module.name();
        if model.mesh_read && !assigned.contains(name) && !model.meant.runs(name) {
            let span = module.manifest.sections.get("module").cloned().unwrap_or_default();
            let message = format!("`{name}` is assigned to no node");
            let help = format!("add to `assign` in mesh.yaml: `{name}: NODE`");
            let mut warning = module.source.refuse(Code::UnusedModule, span, message, help);
            warning.name = Some(name.to_string());
            out.push(warning);
        }
    }
}

/// `unused-secret`: one that is put nowhere.
pub(crate) fn secrets(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for module in model.modules.iter() {
        if module.manifest.secrets.is_empty() {
            continue;
        }
        let Some(used) = used(module, Kind::Secret) else { continue };
        for (name, secret) in module.manifest.secrets.iter().filter(|(name, _)| !used.contains(name.as_str()))
        {
            let message = format!("the secret `{name}` is put nowhere");
            let help = format!("put it into a file or into `env` as `${{secret.{name}}}`, or take it out");
            let mut warning = module.source.refuse(Code::UnusedSecret, secret.span, message, help);
            warning.name = Some(name.to_string());
            out.push(warning);
        }
    }
}

/// `unused-setting`: one that nothing reads.
pub(crate) fn settings(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for module in model.modules.iter() {
        if module.manifest.config.is_empty() {
            continue;
        }
        let Some(used) = used(module, Kind::Config) else { continue };
        for (name, setting) in module.manifest.config.iter().filter(|(name, _)| !used.contains(name.as_str()))
        {
            let message = format!("nothing reads the setting `{name}`");
            let help = format!("use it as `${{config.{name}}}`, or take it out");
            let mut warning = module.source.refuse(Code::UnusedSetting, setting.span, message, help);
            warning.name = Some(name.to_string());
            out.push(warning);
        }
    }
}

/// `unused-setting`: settings for a module where it does not run.
pub(crate) fn settings_of_nobody(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for settings in &model.mesh.config {
        let mut runs = model.runs_of(&settings.module);
        let known = settings.node.as_ref().is_none_or(|node| model.mesh.nodes.contains_key(node));
        let runs = match &settings.node {
            None => runs.len() > 0,
            Some(node) => runs.any(|run| run.key.node == *node),
        };
        if model.modules.contains(&settings.module) && known && !runs && !model.meant.runs(&settings.module) {
            let place = settings.node.as_ref().map_or("anywhere".to_owned(), |node| format!("on `{node}`"));
            let message = format!("these settings are for `{}`, which does not run {place}", settings.module);
            let help = "assign it there, or take the settings out".to_owned();
            let mut warning = model.source.refuse(Code::UnusedSetting, settings.span, message, help);
            warning.module = Some(settings.module.clone());
            warning.node.clone_from(&settings.node);
            out.push(warning);
        }
    }
}

/// The names of a kind that a module uses; none where that cannot be told: where something could not be read.
fn used<'m>(module: &'m Module<'_>, kind: Kind) -> Option<BTreeSet<&'m str>> {
    let manifest = &module.manifest;
    let unread =
        manifest.files.values().filter(|file| !file.value.verbatim).any(|file| match &file.value.content {
            Some(Content::From(from)) => !module.beside.contains_key(&from.value),
            _ => false,
        });
    if unread || !manifest.unsure.is_empty() || module.texts().any(|(_, text, _)| !text.faults().is_empty()) {
        return None;
    }
    let used = module.placeholders().filter_map(|placeholder| match &placeholder.reference {
        Reference::Secret(name) if kind == Kind::Secret => Some(name.as_str()),
        Reference::Config(name) if kind == Kind::Config => Some(name.as_str()),
        _ => None,
    });
    Some(used.collect())
}

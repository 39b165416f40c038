//! Settings: those of `mesh.yaml` over the defaults of the manifest, each of its type.

use std::collections::BTreeMap;

use mesh_model::key::ModuleKey;
use mesh_model::name::SettingName;
use mesh_model::refusal::{Code, Refusal};
use serde_json::Value;

use super::assign;
use crate::decode::manifest::setting_value;
use crate::decode::shown;
use crate::manifest::Manifest;
use crate::mesh::Settings;
use crate::model::Model;
use crate::nearest::advice;
use crate::runs::Run;
use crate::span::Span;

/// `unknown-module`, `unknown-node`: settings for what is not there.
pub(crate) fn unknown_targets(model: &Model<'_>, out: &mut Vec<Refusal>) {
    for settings in &model.mesh.config {
        if !model.modules.contains(&settings.module) {
            let message = format!("`config` is for `{}`, and there is no such module", settings.module);
            out.push(assign::unknown(model, settings.module.as_str(), settings.span, message));
        }
        if let Some(node) = settings.node.as_ref().filter(|node| model.is_no_node(node)) {
            let message =
                format!("`config` is for `{}` on `{node}`, which is not in `nodes`", settings.module);
            out.push(assign::unknown_node(model, node.as_str(), settings.span, message));
        }
    }
}

/// Decides the settings of each module on each node. `unknown-setting`, `bad-setting`, `missing-setting`.
pub(crate) fn decide(model: &mut Model<'_>, out: &mut Vec<Refusal>) {
    let said: Vec<Said<'_>> =
        model.mesh.config.iter().filter_map(|settings| said(model, settings, out)).collect();
    let mut by_module: BTreeMap<_, Vec<&Said<'_>>> = BTreeMap::new();
    for said in &said {
        by_module.entry(&said.of.module).or_default().push(said);
    }
    let assigned = model.mesh.assign.iter().map(|assign| (&assign.module.value, assign.module.span));
    let assigned: BTreeMap<_, _> = assigned.collect();
    let decided = model.runs.iter().map(|run| {
        let said = by_module.get(&run.key.module).map(Vec::as_slice).unwrap_or_default();
        let values = of(&model.module(run).manifest, &run.key, said);
        missing(model, run, &values, said, assigned[&run.key.module], out);
        values
    });
    let decided: Vec<_> = decided.collect();
    for (run, settings) in model.runs.iter_mut().zip(decided) {
        run.settings = settings;
    }
}

/// What one entry of `config` says, as far as it fits.
struct Said<'m> {
    of: &'m Settings,
    values: BTreeMap<SettingName, Value>,
    /// What was refused: it is not missing too.
    refused: Vec<&'m str>,
}

fn said<'m>(model: &'m Model<'_>, of: &'m Settings, out: &mut Vec<Refusal>) -> Option<Said<'m>> {
    let manifest = &model.modules.get(&of.module)?.manifest;
    let mut said = Said { of, values: BTreeMap::new(), refused: Vec::new() };
    for (name, node) in &of.values {
        let Some((known, setting)) = manifest.config.get_key_value(name.value.as_str()) else {
            if manifest.sure("config") {
                let message = format!("`{}` has no setting `{}`", of.module, name.value);
                let known = manifest.config.keys().map(|setting| setting.as_str());
                let help = advice(&name.value, "setting of it", known.clone());
                said.refused.extend(crate::nearest::nearest(&name.value, known));
                out.push(refusal(model, of, Code::UnknownSetting, name.span, &name.value, message, help));
            }
            continue;
        };
        match setting_value(node, setting.value.kind) {
            Some(value) => drop(said.values.insert(known.clone(), value)),
            // Its type may be another one.
            None if setting.value.unsure => said.refused.push(known.as_str()),
            None => {
                let kind = setting.value.kind.as_str();
                let message =
                    format!("the setting `{known}` of `{}` is {kind}, not {}", of.module, shown(node));
                let help = format!("write {kind}, without quotes where it is a number or a truth value");
                said.refused.push(known.as_str());
                out.push(refusal(model, of, Code::BadSetting, node.span, known.as_str(), message, help));
            }
        }
    }
    Some(said)
}

fn refusal(
    model: &Model<'_>,
    of: &Settings,
    code: Code,
    span: Span,
    name: &str,
    message: String,
    help: String,
) -> Refusal {
    let mut refusal = model.source.refuse(code, span, message, help);
    refusal.module = Some(of.module.clone());
    refusal.node.clone_from(&of.node);
    refusal.name = Some(name.to_owned());
    refusal
}

/// The settings of a module on a node: what is said for the node over what is said for all over the defaults.
fn of(manifest: &Manifest, key: &ModuleKey, said: &[&Said<'_>]) -> BTreeMap<SettingName, Value> {
    let default = |(name, setting): (&SettingName, &crate::text::At<crate::manifest::Setting>)| {
        Some((name.clone(), setting.value.default.clone()?))
    };
    let mut values: BTreeMap<SettingName, Value> = manifest.config.iter().filter_map(default).collect();
    for one in said.iter().filter(|said| said.of.node.is_none()) {
        values.extend(one.values.clone());
    }
    for one in said.iter().filter(|said| said.of.node.as_ref() == Some(&key.node)) {
        values.extend(one.values.clone());
    }
    values
}

/// A setting without a value: one that has to be set, or that has no default and is used.
fn missing(
    model: &Model<'_>,
    run: &Run,
    values: &BTreeMap<SettingName, Value>,
    said: &[&Said<'_>],
    assigned: Span,
    out: &mut Vec<Refusal>,
) {
    let key = &run.key;
    let manifest = &model.module(run).manifest;
    for (name, setting) in &manifest.config {
        let refused = said.iter().any(|said| said.refused.contains(&name.as_str()));
        // A default that was refused is no reason to ask for a value.
        let unsure = !setting.value.required && setting.value.unsure;
        if values.contains_key(name) || refused || unsure || model.meant.sets(&key.module) {
            continue;
        }
        let why =
            if setting.value.required { "has to be set" } else { "has no default, so it has to be set" };
        let message = format!("the setting `{name}` of `{}` {why}", key.module);
        let help = format!("add to `config` in mesh.yaml: `{}: {{{name}: …}}`", key.module);
        let here = said.iter().find(|said| said.of.node.as_ref().is_none_or(|node| *node == key.node));
        let span = here.map_or(assigned, |said| said.of.span);
        let mut refusal = model.source.refuse(Code::MissingSetting, span, message, help);
        refusal.module = Some(key.module.clone());
        refusal.node = Some(key.node.clone());
        refusal.name = Some(name.to_string());
        out.push(refusal);
    }
}

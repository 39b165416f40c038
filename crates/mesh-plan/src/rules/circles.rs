//! Modules that wait for each other's answers would wait for ever.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::key::ModuleKey;
use mesh_model::name::LocalName;
use mesh_model::refusal::{Code, Refusal};

use crate::model::Model;

/// Whom each module on a node waits for, and for which need.
type Waits<'m> = BTreeMap<&'m ModuleKey, Vec<(&'m LocalName, ModuleKey)>>;

/// `waits-on-itself`: each circle once, the whole of it named.
pub(crate) fn check(model: &Model<'_>, out: &mut Vec<Refusal>) {
    let mut waits = waits(model);
    loop {
        trim(&mut waits);
        let Some(start) = waits.keys().next().copied() else { return };
        let circle = walk(&waits, start);
        out.push(refusal(model, &circle));
        for (key, _) in &circle {
            waits.remove(key);
        }
    }
}

fn waits<'m>(model: &'m Model<'_>) -> Waits<'m> {
    let mut out = Waits::new();
    for (key, answers) in &model.answers {
        let module = model.module(&key.module);
        let waited = answers.iter().filter(|(local, _)| module.waits.contains(*local));
        let edges = waited
            .map(|(local, from)| (local, ModuleKey { node: from.node.clone(), module: from.module.clone() }));
        out.insert(key, edges.collect());
    }
    out
}

/// Takes out, again and again, who waits for nobody that is left.
fn trim(waits: &mut Waits<'_>) {
    loop {
        let left: BTreeSet<ModuleKey> = waits.keys().map(|key| (*key).clone()).collect();
        waits.values_mut().for_each(|edges| edges.retain(|(_, to)| left.contains(to)));
        let before = waits.len();
        waits.retain(|_, edges| !edges.is_empty());
        if waits.len() == before {
            return;
        }
    }
}

/// Follows the first edge of each until one comes again: from there on it is a circle.
fn walk<'m>(waits: &Waits<'m>, start: &'m ModuleKey) -> Vec<(&'m ModuleKey, &'m LocalName)> {
    let mut path: Vec<(&ModuleKey, &LocalName)> = Vec::new();
    let mut at = start;
    loop {
        if let Some(first) = path.iter().position(|(key, _)| *key == at) {
            return path.split_off(first);
        }
        let (local, to) = &waits[at][0];
        path.push((at, local));
        at = waits
            .get_key_value(to)
            .map(|(key, _)| *key)
            .expect("trimmed: everyone waits for one that is left");
    }
}

fn refusal(model: &Model<'_>, circle: &[(&ModuleKey, &LocalName)]) -> Refusal {
    let (first, local) = circle.iter().min().expect("a circle has somebody in it");
    let row: Vec<String> =
        circle.iter().map(|(key, local)| format!("{} (for its `{local}`)", key.at())).collect();
    let message = format!("these wait for each other for ever: {}, and round again", row.join(" waits for "));
    let message = match circle.len() {
        1 => format!("{} waits for itself for ever, for its `{local}`", first.at()),
        _ => message,
    };
    let help = "let one of them start without the other: do not use the answer in its files, `env` or commands, or \
                `bind` the need to another provider";
    let module = model.module(&first.module);
    let span = module.manifest.needs[*local].span;
    let mut refusal = module.source.refuse(Code::WaitsOnItself, span, message, help.to_owned());
    refusal.node = Some(first.node.clone());
    refusal.name = Some(local.to_string());
    refusal
}

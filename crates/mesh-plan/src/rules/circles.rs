//! Modules that wait for each other's answers would wait for ever.

use std::collections::BTreeMap;

use mesh_model::name::LocalName;
use mesh_model::refusal::{Code, Refusal};

use crate::model::Model;
use crate::runs::Run;

/// Whom each run waits for, and for which need.
type Waits<'m> = BTreeMap<usize, Vec<(&'m LocalName, usize)>>;

/// `waits-on-itself`: each circle once, the whole of it named.
pub(crate) fn check(model: &Model<'_>, out: &mut Vec<Refusal>) {
    let mut waits = waits(model);
    loop {
        trim(&mut waits);
        let Some(start) = waits.keys().next().copied() else { return };
        let circle = walk(&waits, start);
        out.push(refusal(model, &circle));
        for (run, _) in &circle {
            waits.remove(run);
        }
    }
}

fn waits<'m>(model: &'m Model<'_>) -> Waits<'m> {
    let edges = |(place, run): (usize, &'m Run)| {
        let waits = &model.module(run).waits;
        let waited = run.answers.iter().filter(|answer| waits.contains(&answer.local));
        let edges: Vec<_> = waited.map(|answer| (&answer.local, answer.by)).collect();
        (!edges.is_empty()).then_some((place, edges))
    };
    model.runs.iter().enumerate().filter_map(edges).collect()
}

/// Takes out, again and again, who waits for nobody that is left.
fn trim(waits: &mut Waits<'_>) {
    loop {
        let left: Vec<usize> = waits.keys().copied().collect();
        waits.values_mut().for_each(|edges| edges.retain(|(_, to)| left.binary_search(to).is_ok()));
        waits.retain(|_, edges| !edges.is_empty());
        if waits.len() == left.len() {
            return;
        }
    }
}

/// Follows the first edge of each until one comes again: from there on it is a circle.
fn walk<'m>(waits: &Waits<'m>, start: usize) -> Vec<(usize, &'m LocalName)> {
    let mut path: Vec<(usize, &LocalName)> = Vec::new();
    let mut at = start;
    loop {
        if let Some(first) = path.iter().position(|(run, _)| *run == at) {
            return path.split_off(first);
        }
        // Trimmed: everyone waits for one that is left.
        let (local, to) = waits[&at][0];
        path.push((at, local));
        at = to;
    }
}

fn refusal(model: &Model<'_>, circle: &[(usize, &LocalName)]) -> Refusal {
    let at = |place: usize| model.runs[place].key.at();
    // Runs are in the order of their names.
    let (first, local) = *circle.iter().min().expect("a circle has somebody in it");
    let row: Vec<String> =
        circle.iter().map(|(run, local)| format!("{} (for its `{local}`)", at(*run))).collect();
    let message = format!("these wait for each other for ever: {}, and round again", row.join(" waits for "));
    let message = match circle.len() {
        1 => format!("{} waits for itself for ever, for its `{local}`", at(first)),
        _ => message,
    };
    let help = "let one of them start without the other: do not use the answer in its files, `env` or commands, or \
                `bind` the need to another provider";
    let run = &model.runs[first];
    let module = model.module(run);
    let span = module.manifest.needs[local].span;
    let mut refusal = module.source.refuse(Code::WaitsOnItself, span, message, help.to_owned());
    refusal.node = Some(run.key.node.clone());
    refusal.name = Some(local.to_string());
    refusal
}

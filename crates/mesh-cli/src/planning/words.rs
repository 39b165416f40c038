//! What would change, in words: a row a module, its reasons and what comes of them below each other.

use std::collections::BTreeMap;

use mesh_plan::diff::{Change, Effect, Fate, Kind};
use mesh_plan::{Outcome, Plan};

use crate::screen::{Screen, Tone};
use crate::table::{Cell, Table};

/// The changes, as they are printed on standard output.
pub(crate) fn told(outcome: &Outcome, changes: &[Change], screen: &Screen) -> String {
    let touched: Vec<&Change> = changes.iter().filter(|change| change.change != Kind::None).collect();
    let same = changes.len() - touched.len();
    if touched.is_empty() {
        return format!("nothing would change: {}\n", stays(same));
    }
    let mut table = Table::new(["MODULE", "CHANGE", "WHY"]);
    for change in touched {
        let place = format!("{}@{}", change.module, change.node);
        let (mut place, mut word) = (place.into(), word(change.change));
        for line in lines(change, outcome.plan.as_ref()) {
            let cells = [std::mem::replace(&mut place, "".into()), std::mem::replace(&mut word, "".into())];
            let [place, word] = cells;
            table.row([place, word, line.into()]);
        }
    }
    match same {
        0 => table.drawn(screen),
        _ => format!("{}{}\n", table.drawn(screen), stays(same)),
    }
}

fn stays(modules: usize) -> String {
    match modules {
        1 => "1 module stays as it is".to_owned(),
        many => format!("{many} modules stay as they are"),
    }
}

fn word(kind: Kind) -> Cell {
    match kind {
        Kind::Add => Cell::toned("add", Tone::Good),
        Kind::Change => Cell::toned("change", Tone::Waiting),
        Kind::Remove => Cell::toned("remove", Tone::Bad),
        Kind::None => Cell::toned("none", Tone::Quiet),
    }
}

/// Why, and what comes of it; at least one line.
fn lines(change: &Change, plan: Option<&Plan>) -> Vec<String> {
    let mut lines = change.why.clone();
    if let (Kind::Add, Some(plan)) = (change.change, plan) {
        let assignment =
            plan.assignments.values().find(|a| a.node == change.node && a.module == change.module);
        let ports = assignment.into_iter().flat_map(|assignment| &assignment.ports);
        let ports: Vec<String> = ports.map(|(name, port)| format!("{name} {port}")).collect();
        lines.extend(listed("ports:", &ports));
    }
    for (effect, verb) in [
        (Effect::Start, "starts"),
        (Effect::Restart, "restarts"),
        (Effect::Reload, "reloads"),
        (Effect::Stop, "stops"),
    ] {
        lines.extend(listed(verb, &with(&change.services, effect)));
    }
    for (fate, verb) in [(Fate::Made, "makes"), (Fate::Remade, "makes anew"), (Fate::Withdrawn, "withdraws")]
    {
        lines.extend(listed(verb, &with(&change.credentials, fate)));
    }
    for name in with(&change.credentials, Fate::Supplied) {
        let name = name.trim_start_matches("secret.");
        lines.push(format!("waits for `mesh secret set {}.{name}`", change.module));
    }
    lines.extend(change.stays.iter().map(|what| format!("stays: {what}")));
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn with<N: ToString, T: PartialEq>(all: &BTreeMap<N, T>, wanted: T) -> Vec<String> {
    all.iter().filter(|(_, what)| **what == wanted).map(|(name, _)| name.to_string()).collect()
}

fn listed(verb: &str, names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| format!("{verb} {}", names.join(", ")))
}

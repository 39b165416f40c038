//! Which port each module on a node gets: unique per address, and kept.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use mesh_model::key::ModuleKey;
use mesh_model::name::{NodeName, PortName};
use mesh_model::refusal::{Code, Refusal};
use mesh_model::wire::PlanRecord;

use crate::manifest::Port;
use crate::model::Model;
use crate::scope::Scope;
use crate::text::Text;

/// One port of one module on one node.
type Wanted<'m> = (&'m ModuleKey, &'m PortName);

/// Decides the port of each module on each node: those that are written, then those that were decided before, then new
/// ones, each the lowest free one of its node's range. `port-taken`.
pub(crate) fn decide(model: &mut Model<'_>, previous: Option<&PlanRecord>, out: &mut Vec<Refusal>) {
    let said = said(model, out);
    let mut ports =
        Ports { model, said, taken: BTreeMap::new(), chosen: BTreeMap::new(), lowest: BTreeMap::new() };
    for (wanted, number) in ports.written() {
        ports.take(wanted, number, out);
    }
    let auto = ports.auto();
    let (kept, new): (Vec<_>, Vec<_>) =
        auto.into_iter().partition(|wanted| ports.keep(*wanted, previous, out));
    debug_assert!(kept.iter().all(|(key, _)| ports.chosen.contains_key(*key)));
    for wanted in new {
        ports.pick(wanted, out);
    }
    let chosen = ports.chosen.into_iter().map(|(key, ports)| (key.clone(), ports)).collect();
    model.ports = chosen;
}

/// What is said of a port, by the manifest or by a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Auto,
    Number(u16),
}

/// What is said of every port of every module on every node. `bad-setting`: a setting that says no port.
fn said<'m>(model: &'m Model<'_>, out: &mut Vec<Refusal>) -> BTreeMap<Wanted<'m>, Said> {
    let mut all = BTreeMap::new();
    for key in model.runs.keys() {
        for (name, port) in &model.module(&key.module).manifest.ports {
            let said = match &port.value {
                Port::Auto => Some(Said::Auto),
                Port::Fixed(number) => Some(Said::Number(*number)),
                Port::Set(text) => set(model, (key, name), text, out),
            };
            all.extend(said.map(|said| ((key, name), said)));
        }
    }
    all
}

fn set(model: &Model<'_>, (key, name): Wanted<'_>, text: &Text, out: &mut Vec<Refusal>) -> Option<Said> {
    // What has no value has been refused where it stands.
    let value = Scope::of(model, key).text(text).ok()?;
    if value == "auto" {
        return Some(Said::Auto);
    }
    if let Some(number) = value.parse().ok().filter(|number| *number > 0) {
        return Some(Said::Number(number));
    }
    let message =
        format!("the port `{name}` of {} is what `{}` says, and `{value}` is no port", key.at(), text.text);
    let help = "set it to a number from 1 to 65535, or to `auto`".to_owned();
    let mut refusal = model.module(&key.module).source.refuse(Code::BadSetting, text.span, message, help);
    refusal.node = Some(key.node.clone());
    refusal.name = Some(name.to_string());
    out.push(refusal);
    None
}

/// Machines that share an address share its ports; one without an address has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place<'m> {
    Address(&'m str),
    Node(&'m NodeName),
}

struct Ports<'m, 'd> {
    model: &'m Model<'d>,
    said: BTreeMap<Wanted<'m>, Said>,
    taken: BTreeMap<(Place<'m>, u16), Wanted<'m>>,
    chosen: BTreeMap<&'m ModuleKey, BTreeMap<PortName, u16>>,
    /// Below which no port of a range is free.
    lowest: BTreeMap<(Place<'m>, u16, u16), u16>,
}

impl<'m> Ports<'m, '_> {
    fn place(&self, node: &'m NodeName) -> Place<'m> {
        self.model.address(node).map_or(Place::Node(node), |address| Place::Address(address))
    }

    fn range(&self, node: &NodeName) -> RangeInclusive<u16> {
        self.model.mesh.nodes[node].ports.clone()
    }

    fn written(&self) -> Vec<(Wanted<'m>, u16)> {
        let number = |(wanted, said): (&Wanted<'m>, &Said)| match said {
            Said::Number(number) => Some((*wanted, *number)),
            Said::Auto => None,
        };
        self.said.iter().filter_map(number).collect()
    }

    fn auto(&self) -> Vec<Wanted<'m>> {
        self.said.iter().filter(|(_, said)| **said == Said::Auto).map(|(wanted, _)| *wanted).collect()
    }

    fn take(&mut self, (key, name): Wanted<'m>, number: u16, out: &mut Vec<Refusal>) {
        match self.taken.get(&(self.place(&key.node), number)) {
            Some(holder) => out.push(self.clash((key, name), number, *holder)),
            None => self.choose((key, name), number),
        }
    }

    fn choose(&mut self, (key, name): Wanted<'m>, number: u16) {
        self.taken.insert((self.place(&key.node), number), (key, name));
        self.chosen.entry(key).or_default().insert(name.clone(), number);
    }

    fn clash(&self, (key, name): Wanted<'m>, number: u16, (holder, its): Wanted<'m>) -> Refusal {
        let place = match self.model.address(&key.node) {
            Some(address) => format!("{address} (`{}`)", key.node),
            None => format!("`{}`", key.node),
        };
        let message =
            format!("port {number} of {place} is `{its}` of {} and `{name}` of {}", holder.at(), key.at());
        let help = "give one of them another port, `auto` for one that is free, or a node of another address";
        self.refusal((key, name), message, help.to_owned())
    }

    fn refusal(&self, (key, name): Wanted<'m>, message: String, help: String) -> Refusal {
        let module = self.model.module(&key.module);
        let span = module.manifest.ports[name].span;
        let mut refusal = module.source.refuse(Code::PortTaken, span, message, help);
        refusal.node = Some(key.node.clone());
        refusal.name = Some(name.to_string());
        refusal
    }

    /// Keeps what was decided before, where the node's range still has it. Whether it is settled with that: a port that
    /// somebody has written down for another module since then is refused and not moved, since others know it.
    fn keep(
        &mut self,
        (key, name): Wanted<'m>,
        previous: Option<&PlanRecord>,
        out: &mut Vec<Refusal>,
    ) -> bool {
        let before = previous.and_then(|plan| plan.placement.get(&key.at())?.ports.get(name).copied());
        let Some(number) = before.filter(|number| self.range(&key.node).contains(number)) else {
            return false;
        };
        match self.taken.get(&(self.place(&key.node), number)).copied() {
            None => self.choose((key, name), number),
            Some((holder, its)) if self.is_written(holder, its) => {
                out.push(self.clash((holder, its), number, (key, name)));
                self.chosen.entry(key).or_default().insert(name.clone(), number);
            }
            Some(_) => return false,
        }
        true
    }

    fn is_written(&self, key: &ModuleKey, name: &PortName) -> bool {
        matches!(self.said.get(&(key, name)), Some(Said::Number(_)))
    }

    /// Takes the lowest free port of the node's range.
    fn pick(&mut self, (key, name): Wanted<'m>, out: &mut Vec<Refusal>) {
        let place = self.place(&key.node);
        let range = self.range(&key.node);
        let (first, last) = (*range.start(), *range.end());
        let from = self.lowest.get(&(place, first, last)).copied().unwrap_or(first);
        let nothing = BTreeSet::new();
        let held = match place {
            Place::Address(address) => self.model.facts.held.get(address).unwrap_or(&nothing),
            Place::Node(_) => &nothing,
        };
        let free = (from..=last)
            .find(|number| !held.contains(number) && !self.taken.contains_key(&(place, *number)));
        match free {
            Some(number) => {
                self.lowest.insert((place, first, last), number);
                self.choose((key, name), number);
            }
            None => {
                self.lowest.insert((place, first, last), last);
                let message = format!(
                    "no port from {first} to {last} is free on `{}` for `{name}` of {}",
                    key.node,
                    key.at()
                );
                let help = format!(
                    "give `{}` a longer range in mesh.yaml: `ports: {first}-{}`",
                    key.node,
                    last.saturating_add(1000)
                );
                out.push(self.refusal((key, name), message, help));
            }
        }
    }
}

//! Which port each module on a node gets: unique per address, and kept.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use mesh_model::name::{NodeName, PortName};
use mesh_model::refusal::{Code, Refusal};
use mesh_model::wire::PlanRecord;

use crate::manifest::Port;
use crate::model::Model;
use crate::runs::Run;
use crate::scope::Scope;
use crate::text::Text;

/// One port of one run, which is named by its place.
type Wanted<'m> = (usize, &'m PortName);

/// Decides the port of each module on each node: those that are written, then those that were decided before, then new
/// ones, each the lowest free one of its node's range. `port-taken`.
pub(crate) fn decide(model: &mut Model<'_>, previous: Option<&PlanRecord>, out: &mut Vec<Refusal>) {
    let said = said(model, out);
    let mut ports = Ports::of(model);
    let mut auto = Vec::new();
    for (wanted, said) in said {
        match said {
            Said::Number(number) => ports.take(wanted, number, out),
            Said::Auto => auto.push(wanted),
        }
    }
    auto.retain(|wanted| !ports.keep(*wanted, previous, out));
    for new in auto {
        ports.pick(new, out);
    }
    let chosen = ports.chosen;
    for (run, ports) in model.runs.iter_mut().zip(chosen) {
        run.ports = ports;
    }
}

/// What is said of a port, by the manifest or by a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Auto,
    Number(u16),
}

/// What is said of every port of every run, in order. `bad-setting`: a setting that says no port.
fn said<'m>(model: &'m Model<'_>, out: &mut Vec<Refusal>) -> Vec<(Wanted<'m>, Said)> {
    let mut all = Vec::new();
    for (place, run) in model.runs.iter().enumerate() {
        for (name, port) in &model.module(run).manifest.ports {
            let said = match &port.value {
                Port::Auto => Some(Said::Auto),
                Port::Fixed(number) => Some(Said::Number(*number)),
                Port::Set(text) => set(model, run, name, text, out),
            };
            all.extend(said.map(|said| ((place, name), said)));
        }
    }
    all
}

fn set(model: &Model<'_>, run: &Run, name: &PortName, text: &Text, out: &mut Vec<Refusal>) -> Option<Said> {
    // What has no value has been refused where it stands.
    let value = Scope::of(model, run).text(text).ok()?;
    if value == "auto" {
        return Some(Said::Auto);
    }
    if let Some(number) = value.parse().ok().filter(|number| *number > 0) {
        return Some(Said::Number(number));
    }
    let at = run.key.at();
    let message = format!("the port `{name}` of {at} is what `{}` says, and `{value}` is no port", text.text);
    let help = "set it to a number from 1 to 65535, or to `auto`".to_owned();
    let mut refusal = model.module(run).source.refuse(Code::BadSetting, text.span, message, help);
    refusal.node = Some(run.key.node.clone());
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
    /// The number of each run's place: that of the first run there.
    places: Vec<usize>,
    /// Who has a port of a place, and whether somebody said so.
    taken: HashMap<(usize, u16), (Wanted<'m>, Said)>,
    /// For each run.
    chosen: Vec<BTreeMap<PortName, u16>>,
    /// Below which no port of a range is free.
    lowest: BTreeMap<(usize, u16, u16), u16>,
}

impl<'m, 'd> Ports<'m, 'd> {
    fn of(model: &'m Model<'d>) -> Self {
        let mut numbers: BTreeMap<Place<'_>, usize> = BTreeMap::new();
        let runs = model.runs.iter().enumerate();
        let places = runs.map(|(index, run)| {
            let node = &run.key.node;
            let place = model.address(node).map_or(Place::Node(node), |address| Place::Address(address));
            *numbers.entry(place).or_insert(index)
        });
        let places: Vec<usize> = places.collect();
        let chosen = vec![BTreeMap::new(); places.len()];
        Self { model, places, taken: HashMap::new(), chosen, lowest: BTreeMap::new() }
    }

    fn run(&self, run: usize) -> &'m Run {
        &self.model.runs[run]
    }

    fn range(&self, run: usize) -> RangeInclusive<u16> {
        self.model.mesh.nodes[&self.run(run).key.node].ports.clone()
    }

    /// Takes a port that is written down.
    fn take(&mut self, wanted: Wanted<'m>, number: u16, out: &mut Vec<Refusal>) {
        match self.taken.get(&(self.places[wanted.0], number)) {
            Some((holder, _)) => out.push(self.clash(wanted, number, *holder)),
            None => self.choose(wanted, number, Said::Number(number)),
        }
    }

    fn choose(&mut self, (run, name): Wanted<'m>, number: u16, said: Said) {
        self.taken.insert((self.places[run], number), ((run, name), said));
        self.chosen[run].insert(name.clone(), number);
    }

    fn clash(&self, (run, name): Wanted<'m>, number: u16, (holder, its): Wanted<'m>) -> Refusal {
        let (key, holder) = (&self.run(run).key, &self.run(holder).key);
        let place = match self.model.address(&key.node) {
            Some(address) => format!("{address} (`{}`)", key.node),
            None => format!("`{}`", key.node),
        };
        let message =
            format!("port {number} of {place} is `{its}` of {} and `{name}` of {}", holder.at(), key.at());
        let help = "give one of them another port, `auto` for one that is free, or a node of another address";
        self.refusal((run, name), message, help.to_owned())
    }

    fn refusal(&self, (run, name): Wanted<'m>, message: String, help: String) -> Refusal {
        let module = self.model.module(self.run(run));
        let span = module.manifest.ports[name].span;
        let mut refusal = module.source.refuse(Code::PortTaken, span, message, help);
        refusal.node = Some(self.run(run).key.node.clone());
        refusal.name = Some(name.to_string());
        refusal
    }

    /// Keeps what was decided before, where the node's range still has it. Whether it is settled with that: a port that
    /// somebody has written down for another module since then is refused and not moved, since others know it.
    fn keep(
        &mut self,
        (run, name): Wanted<'m>,
        previous: Option<&PlanRecord>,
        out: &mut Vec<Refusal>,
    ) -> bool {
        let placed = previous.and_then(|plan| plan.placement.get(&self.run(run).key.at()));
        let before = placed.and_then(|placed| placed.ports.get(name).copied());
        let Some(number) = before.filter(|number| self.range(run).contains(number)) else {
            return false;
        };
        match self.taken.get(&(self.places[run], number)).copied() {
            None => self.choose((run, name), number, Said::Auto),
            Some((holder, Said::Number(_))) => {
                out.push(self.clash(holder, number, (run, name)));
                self.chosen[run].insert(name.clone(), number);
            }
            Some(_) => return false,
        }
        true
    }

    /// Takes the lowest free port of the node's range.
    fn pick(&mut self, (run, name): Wanted<'m>, out: &mut Vec<Refusal>) {
        let key = &self.run(run).key;
        let place = self.places[run];
        let range = self.range(run);
        let (first, last) = (*range.start(), *range.end());
        let from = self.lowest.get(&(place, first, last)).copied().unwrap_or(first);
        let nothing = BTreeSet::new();
        let address = self.model.address(&key.node);
        let held = address.and_then(|address| self.model.facts.held.get(address)).unwrap_or(&nothing);
        let free = (from..=last)
            .find(|number| !held.contains(number) && !self.taken.contains_key(&(place, *number)));
        match free {
            Some(number) => {
                self.lowest.insert((place, first, last), number);
                self.choose((run, name), number, Said::Auto);
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
                out.push(self.refusal((run, name), message, help));
            }
        }
    }
}

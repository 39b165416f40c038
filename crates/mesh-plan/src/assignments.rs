//! From what has been decided to what each module on each node is to do.
//!
//! Only called when nothing was refused: then everything that is asked for here is there. The manifests are used up on the
//! way: what they say is moved into the plan, so that a large description is not held twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::{CollectionName, DirName, NodeName, ProvisionName, SeatName};
use mesh_model::refusal::{Code, Refusal};
use mesh_model::wire::{Assignment, Config, Consumer, Dir, Need, Provided, Provider, V1, revision};

use crate::common::{Common, Gives, gives};
use crate::model::Model;
use crate::plan::Content as Kept;
use crate::rules::contributions::Contributions;
use crate::runs::Run;
use crate::scope::{self, Scope};
use crate::text::Text;

/// The largest assignment, in bytes: what its bucket takes.
pub const LIMIT: u64 = 512 << 10;

/// What every module on every node is to do, with its settings, and the contents of all files.
pub(crate) struct Assignments {
    pub(crate) assignments: BTreeMap<ModuleKey, Assignment>,
    pub(crate) settings: BTreeMap<ModuleKey, Config>,
    pub(crate) contents: BTreeMap<Digest, Kept>,
}

/// Puts all assignments together. `too-large`: one that its bucket would not take.
pub(crate) fn assignments(
    mut model: Model<'_>,
    contributions: Contributions,
    plan: &Digest,
    refusals: &mut Vec<Refusal>,
) -> Assignments {
    let holders = holders(&model);
    let mut modules = std::mem::take(&mut model.modules).0;
    let gives: Vec<Gives> = modules.iter().map(|module| gives(&module.manifest)).collect();
    let Meetings { needs, consumers } = meetings(&model, contributions, &gives);
    let mut used: Vec<Option<Common>> = modules.iter().map(|_| None).collect();
    let mut contents = BTreeMap::new();
    let (mut assignments, mut settings) = (Vec::new(), Vec::new());
    for (place, (needs, consumers)) in needs.into_iter().zip(consumers).enumerate() {
        let module = model.runs[place].module;
        let common = used[module]
            .get_or_insert_with(|| Common::of(&mut modules[module], model.description, &mut contents));
        let values = model.runs.take_settings(place);
        let run = &model.runs[place];
        let key = &run.key;
        let config = Config { v: V1, node: key.node.clone(), module: key.module.clone(), values };
        let scope = Scope { settings: &config.values, ..Scope::of(&model, run) };
        let mut one = Assignment {
            v: V1,
            plan: plan.clone(),
            digest: plan.clone(),
            node: key.node.clone(),
            module: key.module.clone(),
            manifest: common.manifest.clone(),
            machine: model.machine(&key.node),
            folder: scope::folder(&model, key),
            ports: run.ports.clone(),
            dirs: dirs(&model, key, common),
            access: access(&model, key, common),
            seats: seats(&holders, common),
            settings: config.digest(),
            files: Arc::clone(&common.files),
            run: Arc::clone(&common.run),
            contributes: contributes(&scope, common),
            secrets: common.secrets.clone(),
            needs,
            provides: provides(&scope, common, &gives[module]),
            consumers,
        };
        let length = one.note_digest();
        if length > LIMIT {
            refusals.push(too_large(&model, run, length, one.consumers.len()));
        }
        // In the order of nodes and modules already.
        assignments.push((key.clone(), one));
        settings.push((key.clone(), config));
    }
    let (assignments, settings) = (assignments.into_iter().collect(), settings.into_iter().collect());
    Assignments { assignments, settings, contents }
}

/// Who provides what to whom, seen from both, for each run.
struct Meetings {
    needs: Vec<Vec<Need>>,
    consumers: Vec<Vec<Consumer>>,
}

fn meetings(model: &Model<'_>, contributions: Contributions, gives: &[Gives]) -> Meetings {
    let nothing = Arc::default();
    let mut needs = Vec::with_capacity(contributions.len());
    let mut consumers: Vec<Vec<Consumer>> = vec![Vec::new(); contributions.len()];
    for (run, handed) in model.runs.iter().zip(contributions) {
        let machine = model.machine(&run.key.node);
        let mut of_run = Vec::with_capacity(run.answers.len());
        for (answer, contribution) in run.answers.iter().zip(handed) {
            let provider = &model.runs[answer.by];
            let (local, provision) = (answer.local.clone(), answer.provision.clone());
            let from = Provider { module: provider.key.module.clone(), node: provider.key.node.clone() };
            let revision = revision(&provision, &from, &machine, &contribution);
            let gives = gives[provider.module].get(&provision).unwrap_or(&nothing);
            consumers[answer.by].push(Consumer {
                provision: provision.clone(),
                node: run.key.node.clone(),
                module: run.key.module.clone(),
                local: local.clone(),
                machine: machine.clone(),
                contribution: Arc::clone(&contribution),
                revision: revision.clone(),
            });
            of_run.push(Need { local, provision, from, contribution, revision, gives: Arc::clone(gives) });
        }
        needs.push(of_run);
    }
    for consumers in &mut consumers {
        // Those of one provision are in order: they came in that of runs.
        consumers.sort_by(|one, other| one.provision.cmp(&other.provision));
        consumers.shrink_to_fit();
    }
    Meetings { needs, consumers }
}

fn dirs(model: &Model<'_>, key: &ModuleKey, common: &Common) -> BTreeMap<DirName, Dir> {
    let dir = |(name, temporary): &(DirName, bool)| {
        let path = scope::dir(model, key, name.as_str());
        (name.clone(), Dir { path, temporary: *temporary })
    };
    common.dirs.iter().map(dir).collect()
}

fn access(model: &Model<'_>, key: &ModuleKey, common: &Common) -> BTreeMap<String, String> {
    let asked = common.accesses.iter();
    asked.filter_map(|asked| Some((asked.to_string(), scope::access(model, key, asked)?))).collect()
}

/// Who holds each seat: who is known to hold it now, else the one node of the module that may. Where several stand by and
/// nobody is known, it is left out, and waited for.
fn holders(model: &Model<'_>) -> BTreeMap<SeatName, NodeName> {
    let mut holders = BTreeMap::new();
    for module in model.modules.iter() {
        let mut runs = model.runs_of(module.name());
        if let (1, Some(run)) = (runs.len(), runs.next()) {
            let seats = module.manifest.seats.iter();
            holders.extend(seats.map(|seat| (seat.value.clone(), run.key.node.clone())));
        }
    }
    holders.extend(model.facts.seats.clone());
    holders
}

fn seats(holders: &BTreeMap<SeatName, NodeName>, common: &Common) -> BTreeMap<SeatName, NodeName> {
    common.seats.iter().filter_map(|seat| Some((seat.clone(), holders.get(seat)?.clone()))).collect()
}

fn contributes(scope: &Scope<'_, '_>, common: &Common) -> BTreeMap<CollectionName, Vec<String>> {
    let resolve = |texts: &[Text]| texts.iter().filter_map(|text| scope.text(text).ok()).collect();
    common.contributes.iter().map(|(name, items)| (name.clone(), resolve(items))).collect()
}

fn provides(scope: &Scope<'_, '_>, common: &Common, gives: &Gives) -> BTreeMap<ProvisionName, Provided> {
    let provided = |(name, answers): &(ProvisionName, Option<Text>)| {
        let answers = answers.as_ref().and_then(|text| scope.text(text).ok()).unwrap_or_default();
        Some((name.clone(), Provided { answers, gives: Arc::clone(gives.get(name)?) }))
    };
    common.answers.iter().filter_map(provided).collect()
}

/// `too-large`: an assignment that its bucket would not take.
fn too_large(model: &Model<'_>, run: &Run, length: u64, consumers: usize) -> Refusal {
    let message = format!("what {} is to do takes {length} bytes, and {LIMIT} are the most", run.key.at());
    let help = match consumers {
        0..=50 => "put what is long into files: only their digests travel".to_owned(),
        many => format!("it has {many} consumers: `bind` some of them to another provider"),
    };
    let mut refusal = model.source.refuse(Code::TooLarge, run.span, message, help);
    refusal.node = Some(run.key.node.clone());
    refusal.module = Some(run.key.module.clone());
    refusal
}

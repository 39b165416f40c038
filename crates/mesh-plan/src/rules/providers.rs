//! Who answers each need: the one that `bind` names, or the only one that could.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mesh_model::key::ModuleKey;
use mesh_model::name::{LocalName, ModuleName, ProvisionName};
use mesh_model::refusal::{Code, Refusal};
use mesh_model::wire::Provider;

use super::assign;
use crate::mesh::Binding;
use crate::model::{Model, Module};
use crate::nearest::{advice, listed, nearest};
use crate::runs::{Answer, Run};
use crate::text::At;

/// Who provides what.
struct Providers<'m> {
    /// Every run that provides something, in the order of modules and nodes.
    by: BTreeMap<&'m ProvisionName, Vec<usize>>,
    /// Whether every module of the folder says surely what it provides.
    sure: bool,
    /// Who would provide what is needed and nobody provides.
    would: BTreeMap<&'m ProvisionName, Would<'m>>,
}

/// Who would provide something: modules of the folder that run nowhere, modules that ship with mesh.
struct Would<'m> {
    idle: Vec<&'m ModuleName>,
    shipped: Vec<&'m ModuleName>,
}

impl<'m> Providers<'m> {
    fn of(model: &'m Model<'_>) -> Self {
        let mut by: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (place, run) in model.runs.iter().enumerate() {
            for provision in model.module(run).manifest.provides.keys() {
                by.entry(provision).or_default().push(place);
            }
        }
        let order = |place: &usize| {
            let ModuleKey { node, module } = &model.runs[*place].key;
            (module, node)
        };
        by.values_mut().for_each(|providers| providers.sort_by(|one, other| order(one).cmp(&order(other))));
        let needs = model.modules.iter().flat_map(|module| module.manifest.needs.values());
        let needed = needs.filter_map(|need| Some(&need.value.provision.as_ref()?.value));
        let missing: BTreeSet<_> = needed.filter(|provision| !by.contains_key(provision)).collect();
        let would = missing.into_iter().map(|provision| (provision, Would::provide(model, provision)));
        Self { sure: model.provides_are_sure(), would: would.collect(), by }
    }

    fn able(&self, provision: &ProvisionName) -> &[usize] {
        self.by.get(provision).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether one that would provide it may be meant to run: then what is wrong with that is the cause.
    fn may_run(&self, model: &Model<'_>, provision: &ProvisionName) -> bool {
        let Would { idle, shipped } = &self.would[provision];
        idle.iter().chain(shipped).any(|module| model.meant.runs(module))
    }
}

impl<'m> Would<'m> {
    fn provide(model: &'m Model<'_>, provision: &ProvisionName) -> Self {
        let provides = |module: &&Module<'_>| module.manifest.provides.contains_key(provision);
        let idle = model.modules.iter().filter(provides).map(Module::name).collect();
        Self { idle, shipped: crate::catalog::providing(model.catalog, provision) }
    }
}

/// A binding, and the run that it names; none where that has been refused.
type Chosen<'m> = (&'m Binding, Option<usize>);

/// The bindings of each module.
type Bound<'m> = HashMap<&'m ModuleName, Vec<Chosen<'m>>>;

/// Decides who answers each need. `bad-binding`, `no-provider`, `provider-not-assigned`, `ambiguous-provider`.
pub(crate) fn decide(model: &mut Model<'_>, out: &mut Vec<Refusal>) {
    let providers = Providers::of(model);
    let bound = bindings(model, &providers, out);
    let mut decided = Vec::new();
    for run in &model.runs {
        let bound = bound.get(&run.key.module).map(Vec::as_slice).unwrap_or_default();
        let needs = &model.module(run).manifest.needs;
        let mut answers = Vec::with_capacity(needs.len());
        for (local, need) in needs {
            let Some(provision) = &need.value.provision else { continue };
            let chosen = match binding(bound, &run.key, local) {
                Some(chosen) => chosen,
                None => only(model, run, local, provision, &providers, out),
            };
            let answer = |by| Answer { local: local.clone(), provision: provision.value.clone(), by };
            answers.extend(chosen.map(answer));
        }
        decided.push(answers);
    }
    for (run, answers) in model.runs.iter_mut().zip(decided) {
        run.answers = answers;
    }
}

/// What a binding says about a need: the one for this node, else the one for every node.
fn binding(bound: &[Chosen<'_>], key: &ModuleKey, local: &LocalName) -> Option<Option<usize>> {
    let about = || bound.iter().filter(|(binding, _)| binding.local == *local);
    let here = about().find(|(binding, _)| binding.node.as_ref() == Some(&key.node));
    let chosen = here.or_else(|| about().find(|(binding, _)| binding.node.is_none()))?;
    Some(chosen.1)
}

fn bindings<'m>(model: &'m Model<'_>, providers: &Providers<'_>, out: &mut Vec<Refusal>) -> Bound<'m> {
    let mut bound = Bound::new();
    for binding in &model.mesh.bind {
        let Some(provision) = bound_need(model, binding, out) else { continue };
        let able = providers.able(provision);
        let chosen = binding.to.as_ref().and_then(|to| can_answer(model, binding, to, provision, able, out));
        bound.entry(&binding.module).or_default().push((binding, chosen));
    }
    bound
}

/// The provision of the need that a binding is about.
fn bound_need<'m>(
    model: &'m Model<'_>,
    binding: &Binding,
    out: &mut Vec<Refusal>,
) -> Option<&'m ProvisionName> {
    let Some(module) = model.modules.get(&binding.module) else {
        let message = format!("`bind` is about `{}`, and there is no such module", binding.module);
        out.push(assign::unknown(model, binding.module.as_str(), binding.span, message));
        return None;
    };
    if let Some(node) = binding.node.as_ref().filter(|node| model.is_no_node(node)) {
        let message = format!("`bind` is about `{}` on `{node}`, which is not in `nodes`", binding.module);
        out.push(assign::unknown_node(model, node.as_str(), binding.span, message));
    }
    let need = module.manifest.needs.get(&binding.local);
    if need.is_none() && module.manifest.sure("needs") {
        let message = format!("`{}` has no need `{}`", binding.module, binding.local);
        let known = module.manifest.needs.keys().map(|local| local.as_str());
        let help = advice(binding.local.as_str(), "need in its manifest", known);
        let mut refusal = model.source.refuse(Code::BadBinding, binding.span, message, help);
        refusal.module = Some(binding.module.clone());
        refusal.name = Some(binding.local.to_string());
        out.push(refusal);
    }
    Some(&need?.value.provision.as_ref()?.value)
}

/// The run that a binding names, where it provides what is needed.
fn can_answer(
    model: &Model<'_>,
    binding: &Binding,
    to: &At<Provider>,
    provision: &ProvisionName,
    able: &[usize],
    out: &mut Vec<Refusal>,
) -> Option<usize> {
    let Provider { module, node } = &to.value;
    let at = format!("{module}@{node}");
    let found = model.modules.get(module);
    let provides = found.is_some_and(|found| found.manifest.provides.contains_key(provision));
    let place = model.runs.place(&ModuleKey { node: node.clone(), module: module.clone() });
    let message = match (found, place) {
        (None, _) => format!("`{at}` cannot provide `{provision}`: there is no module `{module}`"),
        (Some(found), _) if !provides && !found.manifest.sure("provides") => return None,
        (Some(_), _) if !provides => format!("`{at}` does not provide `{provision}`"),
        (Some(_), Some(place)) => return Some(place),
        // Where it is assigned to has been refused.
        (Some(_), None) if model.meant.runs(module) => return None,
        (Some(_), None) => {
            let (consumer, local) = (&binding.module, &binding.local);
            format!(
                "`{at}` cannot provide `{provision}` to `{consumer}` for its `{local}`: it does not run on `{node}`"
            )
        }
    };
    let able = names(model, able);
    let near = nearest(&at, able.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`? "));
    let help = match able.len() {
        0 => format!("nothing on the mesh provides `{provision}`"),
        _ => format!("{}what provides it is: {}", near.unwrap_or_default(), listed(&able)),
    };
    let mut refusal = model.source.refuse(Code::BadBinding, to.span, message, help);
    refusal.module = Some(binding.module.clone());
    refusal.name = Some(at);
    out.push(refusal);
    None
}

/// Runs as people write them.
fn names(model: &Model<'_>, places: &[usize]) -> Vec<String> {
    places.iter().map(|place| model.runs[*place].key.at()).collect()
}

/// The only one that could answer a need; where there is none or more than one, that is refused.
fn only(
    model: &Model<'_>,
    run: &Run,
    local: &LocalName,
    provision: &At<ProvisionName>,
    providers: &Providers<'_>,
    out: &mut Vec<Refusal>,
) -> Option<usize> {
    let key = &run.key;
    let able = providers.able(&provision.value);
    let (code, message, help) = match able {
        [one] => return Some(*one),
        [] if !providers.sure || providers.may_run(model, &provision.value) => return None,
        [] => nobody(model, key, local, &provision.value, providers),
        _ if model.meant.binds(&key.module, local) => return None,
        many => ambiguous(key, local, &provision.value, &names(model, many)),
    };
    let module = model.module(run);
    let span = module.manifest.needs[local].span;
    let mut refusal = module.source.refuse(code, span, message, help);
    refusal.node = Some(key.node.clone());
    refusal.name = Some(local.to_string());
    out.push(refusal);
    None
}

fn ambiguous(
    key: &ModuleKey,
    local: &LocalName,
    provision: &ProvisionName,
    able: &[String],
) -> (Code, String, String) {
    let message = format!(
        "`{}` needs `{provision}`, and {} could provide it: {}",
        key.module,
        able.len(),
        listed(able)
    );
    let help = format!(
        "say which in mesh.yaml, under `bind`: `{}.{local}: {}`, or for one node `{}.{local}: …`",
        key.module,
        able[0],
        key.at()
    );
    (Code::AmbiguousProvider, message, help)
}

fn nobody(
    model: &Model<'_>,
    key: &ModuleKey,
    local: &LocalName,
    provision: &ProvisionName,
    providers: &Providers<'_>,
) -> (Code, String, String) {
    let Would { idle, shipped } = &providers.would[provision];
    if !idle.is_empty() {
        let message = format!(
            "`{}` needs `{provision}`, which {} would provide, but runs nowhere",
            key.module,
            listed(idle)
        );
        let help = format!("add to `assign` in mesh.yaml: `{}: {}`", idle[0], key.node);
        return (Code::ProviderNotAssigned, message, help);
    }
    let message =
        format!("nothing on the mesh provides `{provision}`, which `{}` needs as `{local}`", key.module);
    (Code::NoProvider, message, who_could(model, key, provision, shipped, &providers.by))
}

/// The way out where nobody provides something: a shipped module that would, the nearest provision, all there are.
fn who_could(
    model: &Model<'_>,
    key: &ModuleKey,
    provision: &ProvisionName,
    shipped: &[&ModuleName],
    by: &BTreeMap<&ProvisionName, Vec<usize>>,
) -> String {
    let mut help = Vec::new();
    if let Some(module) = shipped.first() {
        help.push(format!(
            "`{module}` ships with mesh and provides it: add to `assign`: `{module}: {}`",
            key.node
        ));
    }
    if let Some(near) = nearest(provision.as_str(), by.keys().map(|provision| provision.as_str())) {
        help.push(format!("did you mean `{near}`?"));
    }
    let first = |by: &[usize]| &model.runs[by[0]].key.module;
    let all = by.iter().map(|(provision, by)| format!("`{provision}` (by {})", first(by)));
    let all: Vec<String> = all.take(20).collect();
    help.push(match all.len() {
        0 => "no module that runs provides anything".to_owned(),
        _ => format!("what is provided: {}", all.join(", ")),
    });
    help.join("; ")
}

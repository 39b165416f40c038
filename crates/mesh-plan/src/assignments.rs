//! From what has been decided to what each module on each node is to do.
//!
//! Only called when nothing was refused: then everything that is asked for here is there.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::{CollectionName, FilePath, ModuleName, NodeName, ProvisionName, SeatName};
use mesh_model::placeholder::Reference;
use mesh_model::refusal::{Code, Refusal};
use mesh_model::wire::{
    Assignment, Config, Consumer, Dir, File, Give, Health, Image, Need, Prepare, Provided, Run, V1, revision,
};

use crate::manifest::{self, Content, Manifest, Service};
use crate::model::{Model, Module};
use crate::plan::Content as Kept;
use crate::rules::contributions::Contributions;
use crate::rules::fields;
use crate::scope::{self, Scope};
use crate::text::Text;

/// The largest assignment, in bytes: what its bucket takes.
pub const LIMIT: u64 = 512 << 10;

/// What every module on every node is to do, with its settings, and the contents of all files.
pub(crate) struct Assignments {
    pub(crate) assignments: BTreeMap<ModuleKey, Assignment>,
    pub(crate) settings: BTreeMap<ModuleKey, Config>,
    pub(crate) contents: BTreeMap<Digest, Kept>,
    /// Those that are larger than [`LIMIT`], and how large.
    pub(crate) too_large: Vec<(ModuleKey, u64)>,
}

/// What is the same wherever a module runs.
struct Common<'m> {
    files: BTreeMap<FilePath, File>,
    run: IndexMap<mesh_model::name::ServiceName, Run>,
    /// What its placeholders refer to.
    references: BTreeSet<&'m Reference>,
    gives: BTreeMap<&'m ProvisionName, BTreeMap<mesh_model::name::FieldName, Give>>,
}

/// Puts all assignments together.
pub(crate) fn assignments(model: &Model<'_>, contributions: &Contributions, plan: &Digest) -> Assignments {
    let mut contents = BTreeMap::new();
    let common: BTreeMap<&ModuleName, Common<'_>> =
        model.nodes_of.keys().map(|name| (name, common(model, name, &mut contents))).collect();
    let mut needs = needs(model, contributions, &common);
    let mut consumers = consumers(&needs, model);
    let mut assignments = BTreeMap::new();
    let mut settings = BTreeMap::new();
    let mut too_large = Vec::new();
    for key in model.runs.keys() {
        let values = model.settings.get(key).cloned().unwrap_or_default();
        let config = Config { v: V1, node: key.node.clone(), module: key.module.clone(), values };
        let needs = needs.remove(key).unwrap_or_default();
        let consumers = consumers.remove(key).unwrap_or_default();
        let mut one = assignment(model, key, &common[&key.module], plan, needs, consumers, config.digest());
        let length = one.note_digest();
        if length > LIMIT {
            too_large.push((key.clone(), length));
        }
        assignments.insert(key.clone(), one);
        settings.insert(key.clone(), config);
    }
    Assignments { assignments, settings, contents, too_large }
}

fn common<'m>(
    model: &'m Model<'_>,
    name: &'m ModuleName,
    contents: &mut BTreeMap<Digest, Kept>,
) -> Common<'m> {
    let module = model.module(name);
    let manifest = &module.manifest;
    let references = module.texts().flat_map(|(_, text, _)| text.placeholders());
    Common {
        files: files(model, module, contents),
        run: manifest.run.iter().map(|(name, service)| (name.clone(), run(&service.value))).collect(),
        references: references.map(|(placeholder, _)| &placeholder.reference).collect(),
        gives: manifest.provides.iter().map(|(name, made)| (name, fields::gives(&made.value))).collect(),
    }
}

fn files(
    model: &Model<'_>,
    module: &Module,
    contents: &mut BTreeMap<Digest, Kept>,
) -> BTreeMap<FilePath, File> {
    let manifest = &module.manifest;
    let mut out = BTreeMap::new();
    for (path, file) in &manifest.files {
        let manifest::File { content, mode, on_change, verbatim } = &file.value;
        let (digest, size, source) = match content {
            Some(Content::Inline(text)) => {
                let bytes = text.text.as_bytes();
                (Digest::of(bytes), bytes.len() as u64, Kept::Inline(bytes.to_owned()))
            }
            Some(Content::From(from)) => {
                let path = format!("modules/{}/{}", manifest.name, from.value);
                let Some(entry) = model.description.files.get(&path) else { continue };
                let kept = match module.beside.get(&from.value) {
                    // At hand already, so that what changes in it can be told.
                    Some(beside) if !verbatim => Kept::Inline(beside.text.text.as_bytes().to_owned()),
                    _ => Kept::File(path),
                };
                (entry.digest.clone(), entry.size, kept)
            }
            None => continue,
        };
        contents.entry(digest.clone()).or_insert(source);
        let (mode, on_change, verbatim) = (mode.clone(), *on_change, *verbatim);
        out.insert(path.clone(), File { digest, size, mode, on_change, verbatim });
    }
    out
}

fn run(service: &Service) -> Run {
    let written = |texts: &[Text]| texts.iter().map(|text| text.text.to_string()).collect::<Vec<_>>();
    let prepare = |step: &manifest::Prepare| Prepare {
        exec: written(&step.exec),
        creates: step.creates.as_ref().map(|text| text.text.to_string()),
    };
    Run {
        prepare: service.prepare.iter().map(prepare).collect(),
        exec: written(&service.exec),
        image: service.image.as_ref().map(|image| Image {
            name: image.text.to_string(),
            args: written(&service.args),
            mounts: written(&service.mounts),
        }),
        env: service.env.iter().map(|(name, text)| (name.clone(), text.text.to_string())).collect(),
        user: service.user.as_ref().map(|text| text.text.to_string()),
        health: service.health.as_ref().map(|health| match health {
            manifest::Health::Http(text) => Health::Http(text.text.to_string()),
            manifest::Health::Tcp(text) => Health::Tcp(text.text.to_string()),
            manifest::Health::Exec(texts) => Health::Exec(written(texts)),
        }),
        restart: service.restart,
        stop_signal: service.stop_signal.clone(),
    }
}

fn needs(
    model: &Model<'_>,
    contributions: &Contributions,
    common: &BTreeMap<&ModuleName, Common<'_>>,
) -> BTreeMap<ModuleKey, Vec<Need>> {
    let mut out = BTreeMap::new();
    for (key, answers) in &model.answers {
        let machine = model.machine(&key.node);
        let mut needs = Vec::with_capacity(answers.len());
        for (local, from) in answers {
            let need = &model.module(&key.module).manifest.needs[local].value;
            let Some(provision) = &need.provision else { continue };
            let provision = provision.value.clone();
            let contribution =
                contributions.get(key).and_then(|of| of.get(local)).cloned().unwrap_or_default();
            let revision = revision(&provision, from, &machine, &contribution);
            let gives = common[&from.module].gives.get(&provision).cloned().unwrap_or_default();
            let (local, from) = (local.clone(), from.clone());
            needs.push(Need { local, provision, from, contribution, revision, gives });
        }
        out.insert(key.clone(), needs);
    }
    out
}

/// The needs, seen from those who provide.
fn consumers(
    needs: &BTreeMap<ModuleKey, Vec<Need>>,
    model: &Model<'_>,
) -> BTreeMap<ModuleKey, Vec<Consumer>> {
    let mut out: BTreeMap<ModuleKey, Vec<Consumer>> = BTreeMap::new();
    for (key, needs) in needs {
        for need in needs {
            let provider = ModuleKey { node: need.from.node.clone(), module: need.from.module.clone() };
            out.entry(provider).or_default().push(Consumer {
                provision: need.provision.clone(),
                node: key.node.clone(),
                module: key.module.clone(),
                local: need.local.clone(),
                machine: model.machine(&key.node),
                contribution: need.contribution.clone(),
                revision: need.revision.clone(),
            });
        }
    }
    for consumers in out.values_mut() {
        consumers.sort_by(|a, b| {
            (&a.provision, &a.node, &a.module, &a.local).cmp(&(&b.provision, &b.node, &b.module, &b.local))
        });
    }
    out
}

fn assignment(
    model: &Model<'_>,
    key: &ModuleKey,
    common: &Common<'_>,
    plan: &Digest,
    needs: Vec<Need>,
    consumers: Vec<Consumer>,
    settings: Digest,
) -> Assignment {
    let module = model.module(&key.module);
    let manifest = &module.manifest;
    let dir =
        |temporary: &bool, name: &str| Dir { path: scope::dir(model, key, name), temporary: *temporary };
    Assignment {
        v: V1,
        plan: plan.clone(),
        digest: plan.clone(),
        node: key.node.clone(),
        module: key.module.clone(),
        manifest: module.digest.clone(),
        machine: model.machine(&key.node),
        folder: scope::folder(model, key),
        ports: model.ports.get(key).cloned().unwrap_or_default(),
        dirs: manifest.dirs.iter().map(|(name, at)| (name.clone(), dir(&at.value, name.as_str()))).collect(),
        access: access(model, key, common),
        seats: seats(model, common),
        settings,
        files: common.files.clone(),
        run: common.run.clone(),
        contributes: contributes(model, key, manifest),
        secrets: manifest.secrets.iter().map(|(name, at)| (name.clone(), at.value.clone())).collect(),
        needs,
        provides: provides(model, key, manifest, common),
        consumers,
    }
}

fn access(model: &Model<'_>, key: &ModuleKey, common: &Common<'_>) -> BTreeMap<String, String> {
    let asked = common.references.iter().filter_map(|reference| match reference {
        Reference::Access(access) => Some(access),
        _ => None,
    });
    asked.filter_map(|asked| Some((asked.to_string(), scope::access(model, key, asked)?))).collect()
}

/// Who holds the seats that a module asks for: who is known to hold one now, else the one node of the module that may.
/// Where several stand by and nobody is known, it is left out, and waited for.
fn seats(model: &Model<'_>, common: &Common<'_>) -> BTreeMap<SeatName, NodeName> {
    let holder = |seat: &SeatName| {
        let now = model.facts.seats.get(seat).cloned();
        now.or_else(|| {
            let may =
                |module: &ModuleName| model.module(module).manifest.seats.iter().any(|at| at.value == *seat);
            let (_, nodes) = model.nodes_of.iter().find(|(module, _)| may(module))?;
            (nodes.len() == 1).then(|| nodes[0].clone())
        })
    };
    let asked = common.references.iter().filter_map(|reference| match reference {
        Reference::Seat(seat) => Some(seat),
        _ => None,
    });
    asked.filter_map(|seat| Some((seat.clone(), holder(seat)?))).collect()
}

fn contributes(
    model: &Model<'_>,
    key: &ModuleKey,
    manifest: &Manifest,
) -> BTreeMap<CollectionName, Vec<String>> {
    let scope = Scope::of(model, key);
    let resolve = |texts: &Vec<Text>| texts.iter().filter_map(|text| scope.text(text).ok()).collect();
    manifest.contributes.iter().map(|(name, items)| (name.clone(), resolve(&items.value))).collect()
}

fn provides(
    model: &Model<'_>,
    key: &ModuleKey,
    manifest: &Manifest,
    common: &Common<'_>,
) -> BTreeMap<ProvisionName, Provided> {
    let scope = Scope::of(model, key);
    let provided = |(name, made): (&ProvisionName, &crate::text::At<manifest::Provision>)| {
        let answers = made.value.answers.as_ref().and_then(|text| scope.text(text).ok()).unwrap_or_default();
        (name.clone(), Provided { answers, gives: common.gives[name].clone() })
    };
    manifest.provides.iter().map(provided).collect()
}

/// `too-large`: an assignment that its bucket would not take.
pub(crate) fn too_large(model: &Model<'_>, made: &Assignments, out: &mut Vec<Refusal>) {
    for (key, length) in &made.too_large {
        let message = format!("what {} is to do takes {length} bytes, and {LIMIT} are the most", key.at());
        let help = match made.assignments[key].consumers.len() {
            0..=50 => "put what is long into files: only their digests travel".to_owned(),
            many => format!("it has {many} consumers: `bind` some of them to another provider"),
        };
        let mut refusal = model.source.refuse(Code::TooLarge, model.runs[key], message, help);
        refusal.node = Some(key.node.clone());
        refusal.module = Some(key.module.clone());
        out.push(refusal);
    }
}

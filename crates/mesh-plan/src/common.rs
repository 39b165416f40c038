//! What is the same wherever a module runs: made once, by using its manifest up, and shared by its assignments.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use mesh_model::digest::Digest;
use mesh_model::name::{
    CollectionName, DirName, FieldName, FilePath, ModuleName, ProvisionName, SeatName, SecretName,
    ServiceName,
};
use mesh_model::placeholder::{Access, Reference};
use mesh_model::wire::{File, Give, Health, Image, Prepare, Run, SecretSpec};

use crate::beside::Beside;
use crate::description::Description;
use crate::manifest::{self, Content, Manifest, Names, Service};
use crate::model::Module;
use crate::plan::Content as Kept;
use crate::text::Text;

/// What each provision of a module gives.
pub(crate) type Gives = BTreeMap<ProvisionName, Arc<BTreeMap<FieldName, Give>>>;

/// What is the same wherever a module runs.
pub(crate) struct Common {
    /// The digest of its manifest.
    pub(crate) manifest: Digest,
    pub(crate) files: Arc<BTreeMap<FilePath, File>>,
    pub(crate) run: Arc<IndexMap<ServiceName, Run>>,
    /// Its folders, and whether each is emptied at each start.
    pub(crate) dirs: Vec<(DirName, bool)>,
    pub(crate) secrets: BTreeMap<SecretName, SecretSpec>,
    /// What it adds to collections, unresolved.
    pub(crate) contributes: Vec<(CollectionName, Vec<Text>)>,
    /// Where the provisioner of each provision writes its answers, unresolved.
    pub(crate) answers: Vec<(ProvisionName, Option<Text>)>,
    /// The ports of others that it asks for.
    pub(crate) accesses: Vec<Access>,
    /// The seats that it asks for.
    pub(crate) seats: Vec<SeatName>,
}

/// What a module gives as assignments say it.
pub(crate) fn gives(manifest: &Manifest) -> Gives {
    let provides = manifest.provides.iter();
    provides.map(|(name, made)| (name.clone(), Arc::new(fields(&made.value)))).collect()
}

fn fields(provision: &manifest::Provision) -> BTreeMap<FieldName, Give> {
    let give = |(name, give): (&FieldName, &crate::text::At<manifest::Gives>)| {
        let give = match &give.value {
            manifest::Gives::Value => Give::Value,
            manifest::Gives::Secret { length, alphabet } => {
                Give::Secret { length: *length, alphabet: *alphabet }
            }
            manifest::Gives::From(text) => {
                Give::From { template: text.text.to_string(), secret: provision.secret.contains(name) }
            }
        };
        (name.clone(), give)
    };
    provision.gives.iter().map(give).collect()
}

impl Common {
    /// Uses a module up. The contents of its files are added to all of them.
    pub(crate) fn of(
        module: &mut Module<'_>,
        description: &Description,
        contents: &mut BTreeMap<Digest, Kept>,
    ) -> Self {
        let (mut accesses, mut seats) = (Vec::new(), Vec::new());
        for placeholder in module.placeholders() {
            match &placeholder.reference {
                Reference::Access(access) if !accesses.contains(access) => accesses.push(access.clone()),
                Reference::Seat(seat) if !seats.contains(seat) => seats.push(seat.clone()),
                _ => {}
            }
        }
        let name = module.name().clone();
        let manifest = std::mem::replace(&mut module.manifest, Manifest::empty(name.clone()));
        let beside = std::mem::take(&mut module.beside);
        Self {
            manifest: module.digest.clone(),
            files: Arc::new(files(&name, manifest.files, &beside, description, contents)),
            run: Arc::new(manifest.run.into_iter().map(|(name, at)| (name, run(at.value))).collect()),
            dirs: manifest.dirs.into_iter().map(|(name, at)| (name, at.value)).collect(),
            secrets: manifest.secrets.into_iter().map(|(name, at)| (name, at.value)).collect(),
            contributes: manifest.contributes.into_iter().map(|(name, items)| (name, items.value)).collect(),
            answers: manifest.provides.into_iter().map(|(name, made)| (name, made.value.answers)).collect(),
            accesses,
            seats,
        }
    }
}

fn files(
    module: &ModuleName,
    files: Names<FilePath, crate::text::At<manifest::File>>,
    beside: &BTreeMap<FilePath, Beside<'_>>,
    description: &Description,
    contents: &mut BTreeMap<Digest, Kept>,
) -> BTreeMap<FilePath, File> {
    let mut out = BTreeMap::new();
    for (path, file) in files {
        let manifest::File { content, mode, on_change, verbatim } = file.value;
        let (digest, size, kept) = match content {
            Some(Content::Inline(text)) => {
                let bytes = String::from(text.text).into_bytes();
                (Digest::of(&bytes), bytes.len() as u64, Kept::Inline(bytes))
            }
            Some(Content::From(from)) => {
                let path = format!("modules/{module}/{}", from.value);
                let Some(entry) = description.files.get(&path) else { continue };
                let kept = match beside.get(&from.value) {
                    // At hand already, so that what changes in it can be told.
                    Some(beside) if !verbatim => Kept::Inline(beside.text.text.as_bytes().to_owned()),
                    _ => Kept::File(path),
                };
                (entry.digest.clone(), entry.size, kept)
            }
            None => continue,
        };
        contents.entry(digest.clone()).or_insert(kept);
        out.insert(path, File { digest, size, mode, on_change, verbatim });
    }
    out
}

fn run(service: Service) -> Run {
    let written = |text: Text| String::from(text.text);
    let all = |texts: Vec<Text>| texts.into_iter().map(written).collect::<Vec<_>>();
    let step = |step: manifest::Prepare| Prepare { exec: all(step.exec), creates: step.creates.map(written) };
    Run {
        prepare: service.prepare.into_iter().map(step).collect(),
        exec: all(service.exec),
        image: service.image.map(|image| Image {
            name: written(image),
            args: all(service.args),
            mounts: all(service.mounts),
        }),
        env: service.env.into_iter().map(|(name, text)| (name, written(text))).collect(),
        user: service.user.map(written),
        health: service.health.map(|health| match health {
            manifest::Health::Http(text) => Health::Http(written(text)),
            manifest::Health::Tcp(text) => Health::Tcp(written(text)),
            manifest::Health::Exec(texts) => Health::Exec(all(texts)),
        }),
        restart: service.restart,
        stop_signal: service.stop_signal,
    }
}

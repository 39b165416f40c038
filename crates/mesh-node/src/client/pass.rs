//! One pass over one module: look up, resolve, render all, write all, hand over to the host.
//!
//! A pass reads the whole assignment and everything that it refers to, and ends in the same place however often it is
//! made: at boot, on a nudge, on a timer, after a crash. It takes up the assignment (tells what it contributes) before
//! anything starts, and writes nothing while one placeholder waits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mesh_model::digest::Digest;
use mesh_model::placeholder::Template;
use mesh_model::wire::{Assignment, NeedRecord, Timestamp};
use mesh_seal::DigestKey;
use serde_json::json;

use super::inputs::{Inputs, Registry, gather};
use super::opener::Opener;
use super::references::{self, Body, Templates};
use super::render::{RenderError, Rendered, render};
use super::report::{self, Progress};
use super::resolve::{Used, resolve, said};
use super::world::World;
use crate::files::{self, FileToWrite, Owner};
use crate::host::{DesiredModule, Layout};
use crate::users;

/// What a pass works with.
pub struct Pass<'a> {
    /// The bus.
    pub world: &'a dyn World,
    /// What the registry says.
    pub registry: &'a Registry,
    /// Where things are on this machine.
    pub layout: &'a Layout,
    /// Opens what is sealed to this node.
    pub opener: &'a mut Opener,
    /// Digests what holds secrets.
    pub digests: &'a DigestKey,
    /// The contents of files that were fetched before.
    pub contents: &'a mut Contents,
    /// Now.
    pub now: Timestamp,
    /// Keeps what is about to be written, for a start without the bus.
    pub keep: &'a mut (dyn Keep + Send + Sync),
    /// Whether the module runs already: then it is left alone between two writes that belong together.
    pub runs: bool,
}

/// Where what is about to be written is kept.
///
/// Before anything is written, so that a start without the bus is never one with something older than what was used already:
/// a credential that was left may have been retired meanwhile.
pub trait Keep {
    /// Keeps it, and says whether it is on the disk.
    fn keep(&mut self, assignment: &Assignment, inputs: &Inputs, contents: &Contents) -> bool;
}

/// What a pass came to.
pub struct Done {
    /// How far the module is; none where it is as far as before, since half of what changes is not here yet.
    pub progress: Option<Progress>,
    /// What the host is to run; none where the module waits or failed, and the host keeps what it has.
    pub module: Option<DesiredModule>,
    /// Whether to look again soon: something that nobody will tell of is not there yet.
    pub again: bool,
}

/// The templates of files, by digest: a content never changes, so it is fetched once.
pub type Contents = BTreeMap<Digest, std::sync::Arc<Vec<u8>>>;

impl Pass<'_> {
    /// Makes a pass over an assignment. `kept` are inputs from before a restart, used instead of looking up.
    pub async fn make(&mut self, assignment: &Assignment, kept: Option<Inputs>) -> Done {
        let offline = kept.is_some();
        if !offline && let Err(why) = self.take_up(assignment).await {
            return failed(format!("what it contributes could not be told: {why}"));
        }
        let templates = match self.templates(assignment).await {
            Ok(templates) => templates,
            Err(why) => return failed(why),
        };
        let references = references::of(assignment, &templates);
        let inputs = match kept {
            Some(inputs) => inputs,
            None => gather(self.world, self.registry, assignment, &references).await,
        };
        if self.runs && !offline && inputs.is_between(assignment) {
            return Done { progress: None, module: None, again: true };
        }
        let resolved = resolve(assignment, &inputs, self.opener, &references);
        if !offline && let Err(why) = self.tell_needs(assignment, &resolved.needs).await {
            tracing::warn!(module = %assignment.module, why, "its needs could not be told");
        }
        let again = !inputs.is_whole(assignment);
        match render(assignment, &templates, &resolved.values, self.digests) {
            Ok(rendered) => {
                let mut used = resolved.used;
                if !offline && !self.keep.keep(assignment, &inputs, self.contents) {
                    // What would not outlive a restart is not taken up.
                    used.turns.clear();
                }
                self.write(assignment, rendered, used, again)
            }
            Err(RenderError::Waiting { .. }) => {
                let progress = Progress::Waiting(report::waiting(&resolved.needs));
                Done { progress: Some(progress), module: None, again }
            }
            Err(error) => Done { again: false, ..failed(said(&error)) },
        }
    }

    /// Tells what the module adds to collections and hands to its providers, and takes back what it no longer does.
    async fn take_up(&self, assignment: &Assignment) -> Result<(), String> {
        for (key, record) in report::collect(assignment) {
            self.world.put(COLLECT, &key.to_string(), json!(record)).await?;
        }
        Ok(())
    }

    async fn tell_needs(
        &self,
        assignment: &Assignment,
        statuses: &[super::resolve::NeedStatus],
    ) -> Result<(), String> {
        let filter = format!("{}.{}.*.*", assignment.node, assignment.module);
        let keys = super::lookup::Keys { bucket: NEEDS.to_owned(), filter };
        let before: BTreeMap<String, NeedRecord> = self
            .world
            .values(&keys)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|(key, value)| Some((key, serde_json::from_value(value).ok()?)))
            .collect();
        for (key, record) in report::needs(assignment, statuses, &before, self.now) {
            self.world.put(NEEDS, &key.to_string(), json!(record)).await?;
        }
        Ok(())
    }

    async fn templates(&mut self, assignment: &Assignment) -> Result<Templates, String> {
        let mut templates = Templates::new();
        for (path, file) in assignment.files.iter() {
            let content = self.content(&file.digest, file.size).await?;
            let body = match file.verbatim {
                true => Body::Verbatim(content),
                false => {
                    let text = std::str::from_utf8(&content);
                    let text = text.map_err(|_| {
                        format!("the file `{path}` is not text in UTF-8, and is not said to be `verbatim`")
                    })?;
                    let (template, faults) = Template::parse(text);
                    if let Some(fault) = faults.first() {
                        return Err(format!(
                            "`{}` in the file `{path}`: {}",
                            &text[fault.span.clone()],
                            fault.kind
                        ));
                    }
                    Body::Template(template)
                }
            };
            templates.insert(path.clone(), body);
        }
        Ok(templates)
    }

    async fn content(&mut self, digest: &Digest, size: u64) -> Result<std::sync::Arc<Vec<u8>>, String> {
        if let Some(content) = self.contents.get(digest) {
            return Ok(content.clone());
        }
        let content = std::sync::Arc::new(self.world.content(digest, size).await?);
        self.contents.insert(digest.clone(), content.clone());
        Ok(content)
    }

    /// Writes all files, and says what the host is to run.
    fn write(&self, assignment: &Assignment, rendered: Rendered, used: Used, again: bool) -> Done {
        let module = match self.place(assignment, &rendered) {
            Ok(module) => module,
            Err(why) => return failed(why),
        };
        let services = module
            .services
            .iter()
            .map(|service| (service.name.clone(), (service.digest.clone(), service.reload_digest.clone())))
            .collect();
        let progress = Progress::Written {
            rendered: rendered.digest,
            used,
            services,
            faults: Vec::new(),
            left: BTreeMap::new(),
        };
        Done { progress: Some(progress), module: Some(module), again }
    }

    fn place(&self, assignment: &Assignment, rendered: &Rendered) -> Result<DesiredModule, String> {
        let name = assignment.module.as_str();
        let folder = self.layout.module(name);
        let owner_of = |user: &Option<String>| owner(user.as_deref());
        self.layout.make(name).map_err(|error| said(&error))?;
        let mut module = rendered.module.clone();
        for dir in &mut module.dirs {
            dir.owner = owner_of(&rendered.user)?;
        }
        let owners = rendered.files.iter().map(|file| owner_of(&file.user)).collect::<Result<Vec<_>, _>>()?;
        let paths: Vec<PathBuf> =
            rendered.files.iter().map(|file| Path::new("files").join(file.path.as_str())).collect();
        let wanted: Vec<FileToWrite<'_>> = rendered
            .files
            .iter()
            .zip(owners)
            .zip(&paths)
            .map(|((file, owner), path)| FileToWrite { path, content: &file.content, mode: file.mode, owner })
            .collect();
        files::replace(&folder, &self.layout.ledger(name), &wanted).map_err(|error| said(&error))?;
        Ok(module)
    }
}

/// Whose a file is: its service's user, where the node may give files away.
fn owner(user: Option<&str>) -> Result<Option<Owner>, String> {
    match user {
        Some(user) if rustix::process::geteuid().is_root() => {
            users::find(user).map(|user| Some(Owner::from(&user))).map_err(|error| said(&error))
        }
        _ => Ok(None),
    }
}

fn failed(why: String) -> Done {
    Done { progress: Some(Progress::Failed(why)), module: None, again: true }
}

/// The bucket of needs.
pub(crate) const NEEDS: &str = "mesh-provisioner_needs";
/// The bucket of collections.
pub(crate) const COLLECT: &str = "mesh-provisioner_collect";
/// The bucket of what is applied.
pub(crate) const APPLIED: &str = "mesh-provisioner_applied";

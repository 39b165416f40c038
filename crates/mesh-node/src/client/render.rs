//! An assignment, resolved: its files and services as they should be, nothing left open.
//!
//! All is rendered before anything is written: one placeholder that waits, and there is no file and no service. Each
//! service carries a keyed digest of everything that it has to be restarted for, and one of what it has to be told of,
//! so that the host restarts what changed and nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use mesh_model::filter::plain;
use mesh_model::name::{FilePath, ServiceName};
use mesh_model::placeholder::{Part, Placeholder, Reference, Template};
use mesh_model::wire::{self, Assignment, File, OnChange, Run};
use mesh_seal::{DigestKey, Secret};
use serde_json::Value;
use thiserror::Error;
use zeroize::Zeroizing;

use super::references::{self, Body, Templates};
use super::resolve::{Found, Known};
use crate::files::{Dir, Lasting};
use crate::host::{DesiredModule, Health, Prepare, Restart, ServiceSpec};
use crate::shim::StopSignal;

/// How long a service may take over stopping.
const STOP_DEADLINE: Duration = Duration::from_secs(20);

/// A module as it should be.
pub struct Rendered {
    /// Its files, below the folder `files` of the module's own.
    pub files: Vec<RenderedFile>,
    /// Its folders and services.
    pub module: DesiredModule,
    /// The user that each folder belongs to, where it belongs to one.
    pub user: Option<String>,
    /// The keyed digest of all of it.
    pub digest: String,
}

/// A file as it should be.
pub struct RenderedFile {
    /// Below the folder of the module's files.
    pub path: FilePath,
    /// All of it. It may hold secrets.
    pub content: Zeroizing<Vec<u8>>,
    /// Its permission bits.
    pub mode: u32,
    /// Whose it is when the node runs as root.
    pub user: Option<String>,
}

/// Why a module was not rendered, though everything is known.
#[derive(Debug, Error)]
pub enum RenderError {
    /// A placeholder that still waits: the module waits.
    #[error("`{reference}` is not known yet: {why}")]
    Waiting {
        /// What it refers to.
        reference: Reference,
        /// Why it is not known.
        why: String,
    },
    /// A value that cannot be written where it stands.
    #[error("{place}: {why}")]
    Value {
        /// Which text: a file, or what of which service.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// A container, on a node that runs none.
    #[error("the service `{0}` is a container, and this node does not run containers yet")]
    Container(ServiceName),
}

/// Renders an assignment.
///
/// # Errors
/// Where a value is not known, or cannot be written where it stands.
pub fn render(
    assignment: &Assignment,
    templates: &Templates,
    values: &BTreeMap<Reference, Found>,
    key: &DigestKey,
) -> Result<Rendered, RenderError> {
    let renderer = Renderer { assignment, values, key };
    let files =
        templates.iter().map(|(path, body)| renderer.file(path, body)).collect::<Result<Vec<_>, _>>()?;
    let services = assignment
        .run
        .iter()
        .map(|(name, run)| renderer.service(name, run, &files))
        .collect::<Result<Vec<_>, _>>()?;
    let user = assignment.run.values().find_map(|run| run.user.clone());
    let parts =
        services.iter().flat_map(|service| [service.digest.as_bytes(), service.reload_digest.as_bytes()]);
    let contents = files.iter().flat_map(|file| [file.path.as_str().as_bytes(), &file.content[..]]);
    let digest = key.digest_all(parts.chain(contents)).to_string();
    let module = DesiredModule {
        module: assignment.module.to_string(),
        dirs: assignment.dirs.values().map(folder).collect(),
        services,
    };
    Ok(Rendered { files, module, user, digest })
}

fn folder(dir: &wire::Dir) -> Dir {
    let lasting = if dir.temporary { Lasting::Temporary } else { Lasting::Kept };
    Dir { path: PathBuf::from(&dir.path), lasting, owner: None }
}

/// A placeholder's value, through its filters.
pub(super) fn written(placeholder: &Placeholder, value: &Value) -> Result<Zeroizing<String>, String> {
    let mut filters = placeholder.filters.iter();
    let first = match filters.next() {
        Some(filter) => filter.apply(value).map_err(|error| error.to_string())?,
        None => plain(value).ok_or_else(|| "a list or an object must end in `json` or `lines`".to_owned())?,
    };
    let mut text = Zeroizing::new(first);
    for filter in filters {
        let value = Known::secret(Value::String(text.as_str().to_owned()));
        text = Zeroizing::new(filter.apply(value.value()).map_err(|error| error.to_string())?);
    }
    Ok(text)
}

struct Renderer<'a> {
    assignment: &'a Assignment,
    values: &'a BTreeMap<Reference, Found>,
    key: &'a DigestKey,
}

impl Renderer<'_> {
    fn fill(&self, template: &Template, place: &str) -> Result<Zeroizing<String>, RenderError> {
        let mut out = Zeroizing::new(String::new());
        for part in &template.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Placeholder(placeholder) => {
                    let known = self.known(&placeholder.reference)?;
                    let text = written(placeholder, known.value())
                        .map_err(|why| RenderError::Value { place: place.to_owned(), why })?;
                    out.push_str(&text);
                }
            }
        }
        Ok(out)
    }

    fn known(&self, reference: &Reference) -> Result<&Known, RenderError> {
        let waiting = |why: &str| RenderError::Waiting { reference: reference.clone(), why: why.to_owned() };
        match self.values.get(reference) {
            Some(Ok(known)) => Ok(known),
            Some(Err(why)) => Err(waiting(why)),
            None => Err(waiting("nobody looked it up")),
        }
    }

    /// A text where no secret may stand.
    fn text(&self, text: &str, place: &str) -> Result<String, RenderError> {
        let template = Template::parse(text).0;
        for placeholder in template.placeholders() {
            if self.known(&placeholder.reference)?.is_secret() {
                let why = format!(
                    "`{}` is a secret, and a secret goes into files and `env` alone",
                    placeholder.reference
                );
                return Err(RenderError::Value { place: place.to_owned(), why });
            }
        }
        let text = self.fill(&template, place)?;
        without_nul(&text, place)?;
        Ok(text.as_str().to_owned())
    }

    fn texts(&self, texts: &[String], place: &str) -> Result<Vec<String>, RenderError> {
        texts.iter().map(|text| self.text(text, place)).collect()
    }

    fn file(&self, path: &FilePath, body: &Body) -> Result<RenderedFile, RenderError> {
        let content = match body {
            Body::Template(template) => {
                self.fill(template, &format!("the file `{path}`"))?.as_bytes().to_vec()
            }
            Body::Verbatim(bytes) => bytes.to_vec(),
        };
        let mode = self.assignment.files.get(path).map_or(0o600, mode);
        let user = self
            .assignment
            .run
            .values()
            .filter(|run| names(run, path))
            .chain(self.assignment.run.values())
            .find_map(|run| run.user.clone());
        Ok(RenderedFile { path: path.clone(), content: Zeroizing::new(content), mode, user })
    }

    fn service(
        &self,
        name: &ServiceName,
        run: &Run,
        files: &[RenderedFile],
    ) -> Result<ServiceSpec, RenderError> {
        if run.image.is_some() {
            return Err(RenderError::Container(name.clone()));
        }
        let place = |what: &str| format!("`{what}` of the service `{name}`");
        let prepare = run.prepare.iter().map(|step| self.prepare(step, &place("prepare")));
        let env = run.env.iter().map(|(key, text)| {
            let place = place(&format!("env.{key}"));
            let text = self.fill(&Template::parse(text).0, &place)?;
            without_nul(&text, &place)?;
            Ok((key.clone(), Secret::new(text.as_bytes().to_vec())))
        });
        let mut spec = ServiceSpec {
            name: name.to_string(),
            prepare: prepare.collect::<Result<_, _>>()?,
            exec: self.texts(&run.exec, &place("exec"))?,
            env: env.collect::<Result<_, RenderError>>()?,
            user: run.user.clone(),
            health: run.health.as_ref().map(|health| self.health(health, &place("health"))).transpose()?,
            restart: restart(run.restart),
            stop_signal: stop_signal(run),
            stop_deadline: STOP_DEADLINE,
            digest: String::new(),
            reload_digest: String::new(),
            ports: self.assignment.ports.iter().map(|(name, port)| (name.to_string(), *port)).collect(),
        };
        spec.digest = self.digest(&spec, run, files, OnChange::Restart);
        spec.reload_digest = self.digest_of_files(run, files, OnChange::Reload);
        Ok(spec)
    }

    fn prepare(&self, step: &wire::Prepare, place: &str) -> Result<Prepare, RenderError> {
        let creates = step.creates.as_ref().map(|path| self.text(path, place)).transpose()?;
        Ok(Prepare { exec: self.texts(&step.exec, place)?, creates: creates.map(PathBuf::from) })
    }

    fn health(&self, health: &wire::Health, place: &str) -> Result<Health, RenderError> {
        Ok(match health {
            wire::Health::Http(url) => Health::Http(self.text(url, place)?),
            wire::Health::Exec(command) => Health::Exec(self.texts(command, place)?),
            wire::Health::Tcp(text) => {
                let text = self.text(text, place)?;
                Health::Tcp(if text.contains(':') { text } else { format!("127.0.0.1:{text}") })
            }
        })
    }

    /// Of everything that a service has to be restarted for.
    fn digest(&self, spec: &ServiceSpec, run: &Run, files: &[RenderedFile], on_change: OnChange) -> String {
        let plain = serde_json::json!({
            "exec": spec.exec, "user": spec.user, "restart": run.restart, "stop_signal": run.stop_signal,
            "health": spec.health.as_ref().map(|health| format!("{health:?}")),
            "prepare": spec.prepare.iter().map(|step| (&step.exec, &step.creates)).collect::<Vec<_>>(),
        });
        let plain = plain.to_string();
        let files = self.digest_of_files(run, files, on_change);
        let env = spec.env.iter().flat_map(|(key, value)| [key.as_bytes(), value.expose()]);
        let parts = [plain.as_bytes(), files.as_bytes()].into_iter().chain(env);
        self.key.digest_all(parts).to_string()
    }

    /// Of the files whose change means this to a service: those that it names, and those that no service names.
    fn digest_of_files(&self, run: &Run, files: &[RenderedFile], on_change: OnChange) -> String {
        let concerns = |file: &&RenderedFile| {
            let means = self.assignment.files.get(&file.path).is_some_and(|f| f.on_change == on_change);
            means
                && (names(run, &file.path) || !self.assignment.run.values().any(|run| names(run, &file.path)))
        };
        let parts =
            files.iter().filter(concerns).flat_map(|file| [file.path.as_str().as_bytes(), &file.content[..]]);
        self.key.digest_all(parts).to_string()
    }
}

/// What a process is given ends at the first NUL: it would get another value than was meant.
fn without_nul(text: &str, place: &str) -> Result<(), RenderError> {
    match text.contains('\0') {
        true => Err(RenderError::Value {
            place: place.to_owned(),
            why: "it holds a NUL character, which no process can be given".to_owned(),
        }),
        false => Ok(()),
    }
}

/// Whether a service names a file.
fn names(run: &Run, path: &FilePath) -> bool {
    references::texts(run).any(|text| {
        Template::parse(text)
            .0
            .placeholders()
            .any(|p| matches!(&p.reference, Reference::File(f) if f == path))
    })
}

/// The plan has checked it; a text that is no mode is as private as a file can be.
fn mode(file: &File) -> u32 {
    u32::from_str_radix(&file.mode, 8).unwrap_or(0o600) & 0o7777
}

fn restart(restart: wire::Restart) -> Restart {
    match restart {
        wire::Restart::Always => Restart::Always,
        wire::Restart::OnFailure => Restart::OnFailure,
        wire::Restart::Never => Restart::Never,
    }
}

fn stop_signal(run: &Run) -> StopSignal {
    match run.stop_signal.as_deref() {
        Some("SIGINT") => StopSignal::Int,
        Some("SIGQUIT") => StopSignal::Quit,
        _ => StopSignal::Term,
    }
}

#[cfg(test)]
mod tests;

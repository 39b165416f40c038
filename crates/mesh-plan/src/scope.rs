//! What the plan itself knows the value of: the placeholders of `with`, `contributes`, `takes` and `answers`.

use std::collections::BTreeMap;

use mesh_model::filter::{FilterError, plain};
use mesh_model::key::ModuleKey;
use mesh_model::name::{LocalName, SettingName};
use mesh_model::placeholder::{Access, Placeholder, Reference};
use serde_json::Value;

use crate::description::ROOT;
use crate::manifest::Input;
use crate::model::Model;
use crate::runs::Run;
use crate::span::Span;
use crate::text::{Piece, Text};

/// Whose placeholders are meant.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a, 'm> {
    pub(crate) model: &'a Model<'m>,
    /// The module on its node.
    pub(crate) run: &'a Run,
    /// Its settings.
    pub(crate) settings: &'a BTreeMap<SettingName, Value>,
    /// The consumer, in a provider's `takes`.
    pub(crate) consumer: Option<(&'a ModuleKey, &'a LocalName)>,
}

/// Why a text has no value here.
pub(crate) enum Unresolved {
    /// It has been refused already, or the plan does not know it.
    Unknown,
    /// A filter cannot write it, at this place.
    Filter(FilterError, Span),
}

impl<'a, 'm> Scope<'a, 'm> {
    pub(crate) fn of(model: &'a Model<'m>, run: &'a Run) -> Self {
        Self { model, run, settings: &run.settings, consumer: None }
    }

    /// What is written: numbers stay numbers, and so does a placeholder alone.
    pub(crate) fn input(&self, input: &Input) -> Result<Value, Unresolved> {
        match input {
            Input::Plain(value) => Ok(value.clone()),
            Input::Text(text) => self.value(text),
        }
    }

    fn value(&self, text: &Text) -> Result<Value, Unresolved> {
        match text.alone().filter(|alone| alone.filters.is_empty()) {
            Some(alone) => self.reference(&alone.reference).ok_or(Unresolved::Unknown),
            None => self.text(text).map(Value::String),
        }
    }

    /// A text with its placeholders replaced.
    pub(crate) fn text(&self, text: &Text) -> Result<String, Unresolved> {
        let mut out = String::with_capacity(text.text.len());
        for piece in text.pieces().ok_or(Unresolved::Unknown)? {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Placeholder(placeholder, place) => {
                    out.push_str(&self.placeholder(placeholder, place)?)
                }
            }
        }
        Ok(out)
    }

    fn placeholder(&self, placeholder: &Placeholder, place: Span) -> Result<String, Unresolved> {
        let mut value = self.reference(&placeholder.reference).ok_or(Unresolved::Unknown)?;
        for filter in &placeholder.filters {
            let written = filter.apply(&value).map_err(|error| Unresolved::Filter(error, place))?;
            value = Value::String(written);
        }
        plain(&value).ok_or(Unresolved::Unknown)
    }

    fn reference(&self, reference: &Reference) -> Option<Value> {
        let Self { model, run, settings, consumer } = self;
        let key = &run.key;
        Some(match reference {
            Reference::Config(name) => settings.get(name)?.clone(),
            Reference::Port(name) => (*run.ports.get(name)?).into(),
            Reference::Dir(name) => dir(model, key, name.as_str()).into(),
            Reference::File(path) => file(model, key, path.as_str()).into(),
            Reference::Access(to) => access(model, key, to)?.into(),
            Reference::MachineName => key.node.as_str().into(),
            Reference::MachineAddress => model.address(&key.node)?.as_str().into(),
            Reference::ModuleName => key.module.as_str().into(),
            Reference::ConsumerModule => (*consumer)?.0.module.as_str().into(),
            Reference::ConsumerNode => (*consumer)?.0.node.as_str().into(),
            Reference::ConsumerLocal => (*consumer)?.1.as_str().into(),
            _ => return None,
        })
    }
}

/// A module's own folder on its node.
pub(crate) fn folder(model: &Model<'_>, key: &ModuleKey) -> String {
    let root = model.facts.roots.get(&key.node).map_or(ROOT, String::as_str);
    format!("{}/modules/{}", root.trim_end_matches('/'), key.module)
}

/// A lasting folder of a module.
pub(crate) fn dir(model: &Model<'_>, key: &ModuleKey, name: &str) -> String {
    format!("{}/dirs/{name}", folder(model, key))
}

fn file(model: &Model<'_>, key: &ModuleKey, path: &str) -> String {
    format!("{}/files/{path}", folder(model, key))
}

/// `host:port` at which a port of a module is reached from a module on a node.
pub(crate) fn access(model: &Model<'_>, key: &ModuleKey, to: &Access) -> Option<String> {
    let there = model.accessed(&key.node, to)?;
    let node = &there.key.node;
    let port = there.ports.get(&to.port)?;
    let host = if *node == key.node { "127.0.0.1" } else { model.address(node)? };
    Some(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

//! Whether what a placeholder names is declared.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::hash::Hash;

use mesh_model::kind::Kind;
use mesh_model::name::{FieldName, LocalName, ProvisionName, SeatName};
use mesh_model::placeholder::{Access, Reference};
use mesh_model::refusal::Code;

use super::{Check, Wrong, wrong};
use crate::manifest::{Manifest, Names};
use crate::model::Model;
use crate::nearest::{advice, listed};
use crate::rules::fields;

/// The seats of the mesh itself.
const SEATS: [&str; 3] = ["mesh-controller", "mesh-provisioner", "mesh-vault"];

impl Check<'_, '_> {
    /// What is wrong with what a placeholder names; none where that is declared, or may be.
    pub(super) fn undeclared(&self, reference: &Reference) -> Option<Wrong> {
        match reference {
            Reference::Bound(local, field) => self.bound(local, field),
            Reference::Access(access) => self.access(access),
            Reference::Seat(seat) => self.seat(seat),
            Reference::Gives(field) => self.gives(field.as_str()),
            Reference::Consumers(provision) | Reference::Contribution(provision) => {
                self.provided(reference.kind(), provision)
            }
            Reference::Config(name) => self.own(Kind::Config, name.as_str()),
            Reference::Secret(name) => self.own(Kind::Secret, name.as_str()),
            Reference::Dir(name) => self.own(Kind::Dir, name.as_str()),
            Reference::File(path) => self.own(Kind::File, path.as_str()),
            Reference::Port(name) => self.own(Kind::Port, name.as_str()),
            _ => None,
        }
    }

    /// A name of the module's own, of a section of its manifest.
    fn own(&self, kind: Kind, name: &str) -> Option<Wrong> {
        let Own { section, what, names } = own(&self.module.manifest, kind)?;
        if names.has(name) || !self.module.manifest.sure(section) {
            return None;
        }
        Some(self.unknown(kind, name, what, names.all()))
    }

    /// A path that does not even fit its kind.
    pub(super) fn unreadable(&self, kind: Kind, path: &str, expected: &str) -> Option<Wrong> {
        if own(&self.module.manifest, kind).is_some() {
            return self.own(kind, path);
        }
        let fixed: &[&str] = match kind {
            Kind::Machine => &["name", "address"],
            Kind::Module => &["name"],
            Kind::Consumer => &["module", "node", "local"],
            _ => &[],
        };
        if !fixed.is_empty() {
            return Some(self.unknown(kind, path, &format!("value of `{kind}`"), fixed.iter().copied()));
        }
        match (kind, path.split_once('.')) {
            (Kind::Gives, _) => self.gives(path),
            (Kind::Bound, Some((local, field))) => match local.parse::<LocalName>() {
                Ok(local) => self.field(&local, field),
                Err(_) => self.need(local),
            },
            _ => {
                let message =
                    format!("a placeholder of this kind is `${{{expected}}}`, not `${{{kind}.{path}}}`");
                Some(wrong(Code::BadPlaceholder, path, message, format!("write `${{{expected}}}`")))
            }
        }
    }

    fn need(&self, local: &str) -> Option<Wrong> {
        let manifest = &self.module.manifest;
        if !manifest.sure("needs") || manifest.needs.contains_key(local) {
            return None;
        }
        let known = manifest.needs.keys().map(|local| local.as_str());
        Some(self.unknown(Kind::Bound, local, "need", known))
    }

    fn bound(&self, local: &LocalName, field: &FieldName) -> Option<Wrong> {
        self.need(local.as_str()).or_else(|| self.field(local, field.as_str()))
    }

    /// A field that some provider of a need does not give.
    fn field(&self, local: &LocalName, field: &str) -> Option<Wrong> {
        let Some(provision) = self.needed(local) else { return self.need(local.as_str()) };
        let answering = fields::answering(self.model, &self.module.manifest.name, local, provision);
        let without = answering.into_iter().find(|made| !made.unsure && !made.gives.contains_key(field))?;
        let message = format!("`${{bound.{local}.{field}}}`: `{provision}` does not give `{field}`");
        let known = without.gives.keys().map(|field| field.as_str());
        let help = advice(field, "field that it gives", known);
        Some(wrong(Code::UnknownField, field, message, help))
    }

    /// A provision of the module's own.
    fn provided(&self, kind: Kind, provision: &ProvisionName) -> Option<Wrong> {
        let manifest = &self.module.manifest;
        if !manifest.sure("provides") || manifest.provides.contains_key(provision) {
            return None;
        }
        let known = manifest.provides.keys().map(|provision| provision.as_str());
        Some(self.unknown(kind, provision.as_str(), "provision that this module provides", known))
    }

    /// A field beside this one. Which provision it belongs to does not matter for what is known: the check of circles
    /// looks at each on its own.
    fn gives(&self, field: &str) -> Option<Wrong> {
        let manifest = &self.module.manifest;
        let known = manifest.provides.values().flat_map(|provision| provision.value.gives.keys());
        let known: Vec<&str> = known.map(|field| field.as_str()).collect();
        let unsure = manifest.provides.values().any(|provision| provision.value.unsure);
        if unsure || !manifest.sure("provides") || known.contains(&field) {
            return None;
        }
        Some(self.unknown(Kind::Gives, field, "field in `gives`", known))
    }

    fn seat(&self, seat: &SeatName) -> Option<Wrong> {
        let known = self.seats?;
        let unknown = !known.contains(seat.as_str());
        unknown.then(|| self.unknown(Kind::Seat, seat.as_str(), "seat", known.iter().copied()))
    }

    /// A port of another module, which has to run where this one can tell.
    fn access(&self, access: &Access) -> Option<Wrong> {
        let written = access.to_string();
        let Some(module) = self.model.modules.get(&access.module) else {
            let known = self.model.modules.names().map(|module| module.as_str());
            let message = format!("`${{access.{written}}}`: there is no module `{}`", access.module);
            let help = advice(access.module.as_str(), "module", known);
            return Some(wrong(Code::UnknownPlaceholder, access.module.as_str(), message, help));
        };
        let ports = &module.manifest.ports;
        if module.manifest.sure("ports") && !ports.contains_key(&access.port) {
            let message =
                format!("`${{access.{written}}}`: `{}` has no port `{}`", access.module, access.port);
            let help = advice(access.port.as_str(), "port of it", ports.keys().map(|port| port.as_str()));
            return Some(wrong(Code::UnknownPlaceholder, access.port.as_str(), message, help));
        }
        self.access_place(access)
    }

    fn access_place(&self, access: &Access) -> Option<Wrong> {
        let mut here = self.model.runs_of(self.module.name());
        let module = &access.module;
        // Where it is assigned to has been refused.
        if self.model.meant.runs(module) {
            return None;
        }
        let stuck = here.find(|run| self.model.accessed(&run.key.node, access).is_none())?;
        let stuck = &stuck.key.node;
        let places: Vec<String> = self.model.runs_of(module).map(|run| run.key.at()).collect();
        Some(match (&access.node, places.is_empty()) {
            (_, true) => {
                let message = format!("`${{access.{access}}}`: `{module}` runs nowhere");
                let help = format!("add to `assign` in mesh.yaml: `{module}: {stuck}`");
                wrong(Code::UnknownPlaceholder, access.to_string(), message, help)
            }
            (Some(node), false) => {
                let message = format!("`${{access.{access}}}`: `{module}` does not run on `{node}`");
                let at = format!("{module}@{node}");
                let help = advice(&at, "place where it runs", places.iter().map(String::as_str));
                wrong(Code::UnknownPlaceholder, at, message, help)
            }
            (None, false) => {
                let message = format!("`${{access.{access}}}`: `{module}` runs on {} nodes", places.len());
                let example = format!("${{access.{}.{}}}", places[0], access.port);
                let help = format!("name one, like `{example}`; it runs at {}", listed(&places));
                wrong(Code::BadPlaceholder, access.to_string(), message, help)
            }
        })
    }
}

/// Every seat that a module may hold, and those of the mesh; none where some could not be read.
pub(super) fn seats<'m>(model: &'m Model<'_>) -> Option<BTreeSet<&'m str>> {
    if model.modules.iter().any(|module| !module.manifest.sure("seats")) {
        return None;
    }
    let seats = model.modules.iter().flat_map(|module| &module.manifest.seats);
    Some(seats.map(|seat| seat.value.as_str()).chain(SEATS).collect())
}

/// What a manifest declares itself of a kind.
struct Own<'m> {
    section: &'static str,
    /// What one of them is.
    what: &'static str,
    names: &'m dyn Declared,
}

/// Names that are declared, of whatever type.
trait Declared {
    fn has(&self, name: &str) -> bool;

    fn all(&self) -> Vec<&str>;
}

impl<K: AsRef<str> + Borrow<str> + Hash + Eq, V> Declared for Names<K, V> {
    fn has(&self, name: &str) -> bool {
        self.contains_key(name)
    }

    fn all(&self) -> Vec<&str> {
        self.keys().map(AsRef::as_ref).collect()
    }
}

fn own(manifest: &Manifest, kind: Kind) -> Option<Own<'_>> {
    let (section, what, names): (_, _, &dyn Declared) = match kind {
        Kind::Config => ("config", "setting", &manifest.config),
        Kind::Secret => ("secrets", "secret", &manifest.secrets),
        Kind::Dir => ("dirs", "folder", &manifest.dirs),
        Kind::File => ("files", "file", &manifest.files),
        Kind::Port => ("ports", "port", &manifest.ports),
        _ => return None,
    };
    Some(Own { section, what, names })
}

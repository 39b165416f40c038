//! A small mesh for the tests: `notes` on cellar needs a database of `postgres` on attic.

use std::collections::BTreeMap;

use mesh_model::key::CredentialKey;
use mesh_model::name::NodeName;
use mesh_model::wire::{Assignment, Provider};
use mesh_seal::{Alphabet, Label, SealingKey, Secret, SigningKey, SystemRandom};
use serde_json::{Value, json};

use crate::credential::{Credential, Origin};
use crate::plan::Pins;
use crate::rules::{Spec, Wanted, What};

pub(crate) fn key(text: &str) -> CredentialKey {
    text.parse().unwrap()
}

pub(crate) fn node(name: &str) -> NodeName {
    name.parse().unwrap()
}

pub(crate) fn provider(module: &str, on: &str) -> Provider {
    Provider { module: module.parse().unwrap(), node: node(on) }
}

pub(crate) fn own() -> What {
    What::Own(Spec { length: 32, alphabet: Alphabet::Alphanumeric })
}

pub(crate) fn database(module: &str, on: &str, fields: &[&str]) -> What {
    let spec = Spec { length: 24, alphabet: Alphabet::Hex };
    What::Credential {
        provider: provider(module, on),
        provision: "postgres-database".parse().unwrap(),
        fields: fields.iter().map(|field| (field.parse().unwrap(), spec)).collect(),
    }
}

/// `notes` on cellar with its database and a supplied secret, `postgres` on attic with its own.
pub(crate) fn quickstart() -> Wanted {
    let entries = [
        ("attic.postgres.secret=2Esuperuser", own()),
        ("cellar.notes.db", database("postgres", "attic", &["password"])),
        ("cellar.notes.secret=2Esmtp", What::Supplied),
    ];
    Wanted { entries: entries.map(|(text, what)| (key(text), what)).into(), ..Wanted::default() }
}

/// Machines with sealing keys of their own.
pub(crate) struct Machines(BTreeMap<NodeName, SealingKey>);

impl Machines {
    pub(crate) fn new(names: &[&str]) -> Self {
        Self(names.iter().map(|name| (node(name), SealingKey::generate())).collect())
    }

    pub(crate) fn pins(&self) -> Pins {
        self.0.iter().map(|(name, key)| (name.clone(), key.public())).collect()
    }

    pub(crate) fn of(&self, name: &str) -> &SealingKey {
        &self.0[&node(name)]
    }
}

/// A credential with nothing in it, for a store or a plan to look at.
pub(crate) fn credential(text: &str, version: u64, origin: Origin, to: &Pins) -> Credential {
    let signing = SigningKey::generate(&mut SystemRandom).unwrap();
    let seal = |(name, recipient): (&NodeName, _)| {
        let [mesh, owner, id] = ["home", text, "c7f3"].map(str::to_owned);
        let label = Label { mesh, node: name.to_string(), owner, name: "db".to_owned(), id, version };
        (name.clone(), signing.seal_for(label, recipient, &Secret::new(vec![])).unwrap())
    };
    let (id, sealed) = ("c7f3".to_owned(), to.iter().map(seal).collect());
    Credential { id, version, origin, sealed, escrow: BTreeMap::new() }
}

/// An assignment as it is on the bus, with some of it replaced.
pub(crate) fn assignment(on: &str, module: &str, parts: Value) -> Assignment {
    let nothing = mesh_model::digest::Digest::of(b"");
    let mut value = json!({
        "v": 1, "plan": nothing, "digest": nothing, "node": on, "module": module, "manifest": nothing,
        "machine": {"name": on}, "folder": format!("/srv/{module}"), "ports": {}, "dirs": {}, "access": {},
        "seats": {}, "settings": nothing, "files": {}, "run": {}, "contributes": {}, "secrets": {},
        "needs": [], "provides": {}, "consumers": [],
    });
    for (name, part) in parts.as_object().unwrap() {
        value[name] = part.clone();
    }
    serde_json::from_value(value).unwrap()
}

/// A need as it is in an assignment.
pub(crate) fn need(local: &str, module: &str, on: &str, gives: Value) -> Value {
    json!({
        "local": local, "provision": "postgres-database", "from": {"module": module, "node": on},
        "contribution": {}, "revision": mesh_model::digest::Digest::of(b""), "gives": gives,
    })
}

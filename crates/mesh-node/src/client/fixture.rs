//! A provider and its consumer, as assignments, for the tests of the client.

use std::collections::BTreeMap;

use mesh_model::digest::Digest;
use mesh_model::key::Entry;
use mesh_model::kind::Kind;
use mesh_model::wire::{Assignment, Bound, Delivered, Registration};
use mesh_seal::{Fields, Label, Sealed, SealingKey, Secret, SigningKey, SystemRandom};
use serde_json::{Value, json};

use super::inputs::{Asked, Inputs, Offered};
use super::lookup::Keys;
use super::opener::Opener;

/// A password that must never be seen.
pub(crate) const SENTINEL: &str = "s3nt1nel-pass/word";
const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// `notes` on `cellar`, which needs `db` of `postgres@attic`. `run` and `files` are as in an assignment.
pub(crate) fn notes(run: Value, files: Value) -> Assignment {
    let settings = BTreeMap::from([("title", "Our notes")]);
    assignment(json!({
        "v": 1, "plan": NOTHING, "digest": NOTHING, "node": "cellar", "module": "notes", "manifest": NOTHING,
        "machine": {"name": "cellar", "address": "10.0.0.2"}, "folder": "/s/modules/notes",
        "ports": {"http": 20000}, "dirs": {"data": {"path": "/s/modules/notes/dirs/data"}},
        "access": {"postgres.sql": "10.0.0.1:5432"}, "seats": {"mesh-vault": "attic"},
        "settings": Digest::of_json(&settings), "files": files, "run": run,
        "contributes": {"motd": ["hello"]}, "secrets": {"admin": {"length": 32, "alphabet": "hex"}},
        "needs": [{"local": "db", "provision": "postgres-database", "from": {"module": "postgres", "node": "attic"},
            "contribution": {"name": "notes"}, "revision": revision(),
            "gives": {"host": {"as": "value"}, "password": {"as": "secret", "length": 32, "alphabet": "alphanumeric"},
                "url": {"as": "from", "secret": true,
                    "template": "pg://${consumer.module}:${gives.password | url}@${gives.host}/x"}}}],
        "provides": {}, "consumers": [],
    }))
}

/// `postgres` on `attic`, whose only consumer is `notes@cellar`.
pub(crate) fn postgres() -> Assignment {
    assignment(json!({
        "v": 1, "plan": NOTHING, "digest": NOTHING, "node": "attic", "module": "postgres", "manifest": NOTHING,
        "machine": {"name": "attic", "address": "10.0.0.1"}, "folder": "/s/modules/postgres",
        "ports": {}, "dirs": {}, "access": {}, "seats": {}, "settings": NOTHING, "files": {}, "run": {},
        "contributes": {}, "secrets": {}, "needs": [],
        "provides": {"postgres-database": {"answers": "/s/answers.json",
            "gives": {"host": {"as": "value"}, "password": {"as": "secret", "length": 32, "alphabet": "alphanumeric"}}}},
        "consumers": [{"provision": "postgres-database", "node": "cellar", "module": "notes", "local": "db",
            "machine": {"name": "cellar", "address": "10.0.0.2"}, "contribution": {"name": "notes"},
            "revision": revision()}],
    }))
}

fn assignment(value: Value) -> Assignment {
    serde_json::from_value(value).unwrap()
}

/// The revision of what `notes` contributes.
pub(crate) fn revision() -> Digest {
    Digest::of(b"what notes contributes")
}

/// The registry, as the provisioner compiles it in.
pub(crate) fn registry() -> BTreeMap<Kind, Registration> {
    let of_assignment = |kind: &str, field: &str| {
        json!({"v": 1, "kind": kind, "owner": "mesh-controller",
        "bucket": "mesh-controller_assignments", "key": "<node>.<module>", "field": field})
    };
    let mut entries = vec![
        json!({"v": 1, "kind": "config", "owner": "mesh-controller", "bucket": "mesh-controller_config",
            "key": "<node>.<module>", "field": "values"}),
        json!({"v": 1, "kind": "secret", "owner": "mesh-vault", "verb": "mesh-vault.secret"}),
        json!({"v": 1, "kind": "bound", "owner": "<provider>", "bucket": "<provider-module>_bound",
            "key": "<node>.<module>.<provision>[.<local>]", "field": "values"}),
        json!({"v": 1, "kind": "consumers", "owner": "mesh-vault", "verb": "mesh-vault.consumers"}),
        json!({"v": 1, "kind": "contribution", "owner": "mesh-provisioner", "bucket": "mesh-provisioner_collect",
            "key": "*.<collection>.*", "field": "items"}),
    ];
    for kind in ["collected", "shell", "environment"] {
        entries.push(json!({"v": 1, "kind": kind, "owner": "mesh-provisioner",
            "bucket": "mesh-provisioner_collect", "key": "<node>.<collection>.*", "field": "items"}));
    }
    for (kind, field) in [
        ("dir", "dirs"),
        ("file", "files"),
        ("port", "ports"),
        ("access", "access"),
        ("seat", "seats"),
        ("machine", "machine"),
    ] {
        entries.push(of_assignment(kind, field));
    }
    let read = |entry: Value| serde_json::from_value::<Registration>(entry).unwrap();
    entries.into_iter().map(read).map(|entry| (entry.kind, entry)).collect()
}

/// A node with a key, and the vault that it trusts.
pub(crate) struct Trust {
    pub(crate) vault: SigningKey,
    pub(crate) key: SealingKey,
    pub(crate) node: &'static str,
}

impl Trust {
    pub(crate) fn new(node: &'static str) -> Self {
        let vault = SigningKey::generate(&mut SystemRandom).unwrap();
        Self { vault, key: SealingKey::generate(), node }
    }

    pub(crate) fn opener(&self) -> Opener {
        Opener {
            mesh: "home".parse().unwrap(),
            node: self.node.parse().unwrap(),
            identity: self.key.clone(),
            signer: self.vault.verifying(),
            seen: BTreeMap::new(),
        }
    }

    /// A credential of `notes@cellar`, sealed to this node.
    pub(crate) fn delivered(
        &self,
        name: &str,
        id: &str,
        version: u64,
        fields: &[(&str, &str)],
    ) -> Delivered<Sealed> {
        let mut all = Fields::new();
        fields.iter().for_each(|(field, value)| all.insert(*field, Secret::from((*value).to_owned())));
        let label = Label {
            mesh: "home".into(),
            node: self.node.into(),
            owner: "cellar.notes".into(),
            name: name.into(),
            id: id.into(),
            version,
        };
        let sealed = self.vault.seal_for(label, &self.key.public(), &all.encode().unwrap()).unwrap();
        Delivered { id: id.into(), version, sealed }
    }
}

/// The provider's answer to `notes`.
pub(crate) fn bound(credential: Option<&str>) -> Bound {
    serde_json::from_value(
        json!({"v": 1, "node": "cellar", "module": "notes", "provision": "postgres-database",
        "local": "db", "by": "attic", "revision": revision(), "values": {"host": "10.0.0.1"},
        "credential": credential, "at": "2026-12-01T00:00:00Z"}),
    )
    .unwrap()
}

/// What the vault answers while nothing is rotated.
pub(crate) fn offered(credentials: Vec<Delivered<Sealed>>) -> Asked<Offered> {
    Asked::Answer(Offered { credentials, turn: None })
}

/// Everything that `notes` can find, with the credential `c1`.
pub(crate) fn inputs(assignment: &Assignment, trust: &Trust, bound: Option<Bound>) -> Inputs {
    let own = |bucket: &str| Keys { bucket: bucket.into(), filter: "cellar.notes".into() };
    let one = |value: Value| vec![("cellar.notes".to_owned(), value)];
    let config = json!({"v": 1, "node": "cellar", "module": "notes", "values": {"title": "Our notes"}});
    let mut inputs = Inputs { registry: registry(), ..Inputs::default() };
    inputs.buckets.insert(own("mesh-controller_config"), one(config));
    inputs.buckets.insert(own("mesh-controller_assignments"), one(json!(assignment)));
    let keys = Keys { bucket: "postgres_bound".into(), filter: "cellar.notes.postgres-database.db".into() };
    inputs.buckets.insert(keys, bound.into_iter().map(|bound| (String::new(), json!(bound))).collect());
    let motd = Keys { bucket: "mesh-provisioner_collect".into(), filter: "cellar.motd.*".into() };
    let item = |text: &str| (text.to_owned(), json!({"items": [text]}));
    inputs.buckets.insert(motd, vec![item("from a"), item("from b")]);
    let db = trust.delivered("db", "c1", 1, &[("password", SENTINEL)]);
    let admin = trust.delivered("secret.admin", "a1", 1, &[("value", SENTINEL)]);
    inputs.credentials.insert(Entry::Need("db".parse().unwrap()).to_string(), offered(vec![db]));
    inputs.credentials.insert("secret.admin".into(), offered(vec![admin]));
    inputs
}

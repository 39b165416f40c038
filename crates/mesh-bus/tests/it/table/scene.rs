//! A bus with everybody on it who can be, and something in every bucket.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use mesh_bus::grants::{Answered, Grants, ModuleReach, NodeReach, OperatorReach, Provides};
use mesh_bus::testing::Bus;
use mesh_bus::{Account, Bucket, Kv, client};
use mesh_model::digest::Digest;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::table::rows::{Row, covers, table};

/// Keys that each bucket has, besides what the table's buckets need.
pub(crate) const KEYS: &[&str] = &[
    "attic.notes",
    "cellar.notes",
    "loft.notes",
    "attic.notes.bound.web",
    "cellar.notes.bound.db",
    "attic.notes.route.web",
    "cellar.notes.postgres-database.db",
    "loft.notes.route.web",
    "loft.contribution=3Aroute.notes",
    "loft.contribution=3Apostgres-database.notes",
    "loft.motd.notes",
    "secret",
    "current",
    "mesh-vault",
    "mesh-controller",
    "mesh-provisioner",
    "proxy-leader",
    "other-leader",
];

pub(crate) struct Scene {
    _bus: Bus,
    /// Who may do everything.
    pub(crate) all: client::Bus,
    pub(crate) accounts: Vec<(client::Bus, Vec<Row>)>,
    pub(crate) file: String,
    _answering: JoinSet<()>,
}

/// What the server says of all streams and consumers: any write, deletion or setting shows in it.
pub(crate) type State = BTreeMap<String, Value>;

impl Scene {
    pub(crate) async fn set() -> Self {
        let bus = Bus::start().await;
        let all = bus.all().await;
        let file = Digest::of(b"of attic").to_string();
        let bound = ["postgres", "proxy"].map(|provider| Bucket::bound(&provider.parse().unwrap()));
        bus.buckets(&bound).await;
        let accounts = accounts(&bus, &table(&file)).await;
        let mut scene = Self { _bus: bus, all, accounts, file, _answering: JoinSet::new() };
        scene.fill().await;
        scene.answer().await;
        scene.watch().await;
        scene
    }

    pub(crate) fn buckets() -> Vec<Bucket> {
        let bound = ["postgres", "proxy"].map(|provider| Bucket::bound(&provider.parse().unwrap()));
        Bucket::fixed().into_iter().chain(bound).collect()
    }

    async fn fill(&self) {
        let other = Digest::of(b"of cellar");
        for bucket in Self::buckets() {
            let kv = Kv::new(&self.all, bucket.clone());
            for key in KEYS {
                kv.put(key, format!("{key} of {bucket}")).await.unwrap();
            }
            if bucket == Bucket::files() {
                kv.put(format!("{}.0", self.file), "of attic").await.unwrap();
                kv.put(format!("{other}.0"), "of cellar").await.unwrap();
            }
        }
    }

    /// Somebody in `BUS` answers every verb with the subject on which it was asked.
    async fn answer(&mut self) {
        for subject in ["mesh-controller.>", "mesh-vault.>", "mesh-provisioner.>", "$SRV.>"] {
            let mut questions = self.all.nats().subscribe(subject).await.unwrap();
            let nats = self.all.nats().clone();
            self._answering.spawn(async move {
                while let Some(question) = questions.next().await {
                    let Some(reply) = question.reply else { continue };
                    let answer = json!({"heard": question.subject.as_str()}).to_string();
                    nats.publish(reply, answer.into()).await.unwrap();
                }
            });
        }
        self.all.nats().flush().await.unwrap();
    }

    /// Everybody watches what they may.
    pub(crate) async fn watch(&self) {
        for (bus, rows) in &self.accounts {
            for row in rows.iter().filter(|row| row.what == "watch") {
                let any = format!("{}-read", bus.account());
                let consumer = row.consumer.as_ref().filter(|name| *name != "*").unwrap_or(&any);
                let (subject, body) = consumer_of(&row.bucket, consumer, &row.keys);
                let answer =
                    self.all.nats().request(format!("$JS.API.{subject}"), body.into()).await.unwrap();
                assert!(!is_error(&answer.payload), "{answer:?}");
            }
        }
    }

    /// All that the server knows of streams and consumers.
    pub(crate) async fn state(&self) -> State {
        let mut state = State::new();
        let streams = self.api("STREAM.LIST").await;
        for stream in streams["streams"].as_array().unwrap() {
            let name = stream["config"]["name"].as_str().unwrap();
            let consumers = self.api(&format!("CONSUMER.LIST.{name}")).await;
            let consumers = consumers["consumers"].as_array().unwrap().iter().map(|consumer| {
                let mut consumer = consumer["config"].clone();
                consumer.as_object_mut().unwrap().shift_remove("metadata");
                (consumer["name"].as_str().unwrap().to_owned(), consumer)
            });
            let consumers: BTreeMap<String, Value> = consumers.collect();
            let mut held = stream["state"].clone();
            for varying in ["first_ts", "last_ts", "consumer_count"] {
                held.as_object_mut().unwrap().shift_remove(varying);
            }
            let said = json!({"config": stream["config"], "created": stream["created"], "state": held, "consumers": consumers});
            state.insert(name.to_owned(), said);
        }
        state
    }

    /// What stands under every key that an account may not write: its revision, and its value.
    pub(crate) async fn of_others(&self, rows: &[Row]) -> BTreeMap<String, (u64, Vec<u8>)> {
        let mut held = BTreeMap::new();
        for bucket in Self::buckets() {
            let name = bucket.name().to_owned();
            let own = |key: &str| {
                rows.iter().any(|row| row.what == "write" && row.bucket == name && covers(&row.keys, key))
            };
            for (key, entry) in Kv::new(&self.all, bucket).whole().await.unwrap() {
                if !own(&key) {
                    held.insert(format!("{name} {key}"), (entry.revision, entry.value.to_vec()));
                }
            }
        }
        held
    }

    /// The streams, and the names of their consumers.
    pub(crate) async fn names(&self) -> BTreeMap<String, Vec<String>> {
        let state = self.state().await;
        let consumers = |said: &Value| said["consumers"].as_object().unwrap().keys().cloned().collect();
        state.iter().map(|(stream, said)| (stream.clone(), consumers(said))).collect()
    }

    async fn api(&self, call: &str) -> Value {
        let answer = self.all.nats().request(format!("$JS.API.{call}"), "".into()).await.unwrap();
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        assert!(answer["total"].as_u64().unwrap() <= 256, "one page has it all");
        answer
    }
}

/// What makes a consumer: the call, and its body.
pub(crate) fn consumer_of(bucket: &str, consumer: &str, keys: &str) -> (String, String) {
    let filter = format!("$KV.{bucket}.{keys}");
    let body = json!({
        "stream_name": format!("KV_{bucket}"),
        "config": {
            "name": consumer, "deliver_policy": "last_per_subject", "ack_policy": "none",
            "filter_subject": filter, "mem_storage": true, "inactive_threshold": 3_600_000_000_000_u64,
        },
    });
    (format!("CONSUMER.CREATE.KV_{bucket}.{consumer}.{filter}"), body.to_string())
}

pub(crate) fn is_error(payload: &[u8]) -> bool {
    serde_json::from_slice::<Value>(payload).is_ok_and(|answer| answer.get("error").is_some())
}

async fn accounts(bus: &Bus, table: &[(String, Vec<Row>)]) -> Vec<(client::Bus, Vec<Row>)> {
    let mut accounts = Vec::new();
    for (name, rows) in table {
        let connection = match name.as_str() {
            "attic" => bus.node(name, &attic()).await,
            "cellar" => bus.node(name, &cellar()).await,
            "module=cellar=proxy" => bus.module("cellar.proxy", &proxy()).await,
            "operator=ada" => {
                let providers = ["postgres", "proxy"].map(|name| name.parse().unwrap()).into();
                let reach = OperatorReach { providers, ..OperatorReach::default() };
                let grants = Grants::of_operator(&"ada".parse().unwrap(), &reach);
                bus.accounts.push(&grants).await.unwrap();
                bus.connect(&grants.account).await
            }
            other => match other.parse().unwrap() {
                Account::Invited(invitee) => {
                    let grants = Grants::of_invited(&invitee);
                    bus.accounts.push(&grants).await.unwrap();
                    bus.connect(&grants.account).await
                }
                seat => bus.connect(&seat).await,
            },
        };
        accounts.push((connection, rows.clone()));
    }
    accounts
}

fn attic() -> NodeReach {
    NodeReach {
        files: [Digest::of(b"of attic")].into(),
        provides: vec![Provides {
            module: "postgres".parse().unwrap(),
            provisions: ["postgres-database".parse().unwrap()].into(),
            answers: Answered::Everybody,
        }],
        ..NodeReach::default()
    }
}

/// Its proxy runs on another node too, and so answers no more than what the plan gives it here.
fn cellar() -> NodeReach {
    NodeReach {
        providers: ["postgres".parse().unwrap()].into(),
        provides: vec![provides()],
        ..NodeReach::default()
    }
}

fn proxy() -> ModuleReach {
    ModuleReach {
        provides: Some(provides()),
        needs: ["attic.notes.bound.web".parse().unwrap()].into(),
        seats: ["proxy-leader".parse().unwrap()].into(),
    }
}

fn provides() -> Provides {
    Provides {
        module: "proxy".parse().unwrap(),
        provisions: ["route".parse().unwrap()].into(),
        answers: Answered::Only(["attic.notes.route.web".parse().unwrap()].into()),
    }
}

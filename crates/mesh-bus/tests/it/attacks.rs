//! What a node may not do, it cannot: the attacks that worked inside one account, and those by way of
//! consumers.
//!
//! Each is tried by a node that has all the grants that a node can have, against another that is like it.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::{HeaderMap, Message, RequestErrorKind};
use futures_util::StreamExt;
use mesh_bus::account::Usage;
use mesh_bus::grants::{Answered, NodeReach, Provides};
use mesh_bus::kv::KvError;
use mesh_bus::testing::Bus;
use mesh_bus::verb::{self, MAX_QUESTION, Service};
use mesh_bus::{Bucket, Kv, Mirror, client};
use mesh_model::digest::Digest;
use serde_json::{Value, json};

const APPLIED: &str = "KV_mesh-provisioner_applied";
const OWN_KEY: &str = "$KV.mesh-provisioner_applied.attic.notes";
const OWN_GET: &str =
    "$JS.API.DIRECT.GET.KV_mesh-provisioner_applied.$KV.mesh-provisioner_applied.attic.notes";

/// A bus on which `attic` attacks, and all that it could break.
struct Scene {
    bus: Bus,
    attic: client::Bus,
    /// Who may do everything.
    all: client::Bus,
}

impl Scene {
    async fn set() -> Self {
        let bus = Bus::start().await;
        let attic = bus.node("attic", &provider_reach()).await;
        let cellar = bus.node("cellar", &NodeReach::default()).await;
        let all = bus.all().await;
        Kv::new(&attic, Bucket::applied()).put("attic.notes", "of attic").await.unwrap();
        Kv::new(&cellar, Bucket::applied()).put("cellar.notes", "of cellar").await.unwrap();
        Kv::new(&all, Bucket::registry()).put("secret", "of the provisioner").await.unwrap();
        Kv::new(&all, Bucket::assignments()).put("cellar.notes", "of the controller").await.unwrap();
        Self { bus, attic, all }
    }

    async fn get(&self, bucket: Bucket, key: &str) -> String {
        let entry = Kv::new(&self.all, bucket).get(key).await.unwrap().expect("it is there");
        String::from_utf8(entry.value.to_vec()).unwrap()
    }

    /// Nothing of what is not attic's has changed.
    async fn is_unharmed(&self) {
        // What was sent to the server before this is done when it answers.
        self.attic.nats().flush().await.unwrap();
        Kv::new(&self.attic, Bucket::needs()).put("attic.notes.bound.db", "{}").await.unwrap();
        assert_eq!(self.get(Bucket::applied(), "cellar.notes").await, "of cellar");
        assert_eq!(self.get(Bucket::registry(), "secret").await, "of the provisioner");
        assert_eq!(self.get(Bucket::assignments(), "cellar.notes").await, "of the controller");
        assert_eq!(self.streams().await, 1 + Bucket::fixed().len());
    }

    async fn streams(&self) -> usize {
        let answer = self.all.nats().request("$JS.API.STREAM.NAMES", "".into()).await.unwrap();
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        answer["streams"].as_array().unwrap().len()
    }

    /// Asks as attic, on a subject as it is.
    async fn ask(&self, subject: &str, body: &str) -> Result<Message, RequestErrorKind> {
        let answer = self.attic.nats().request(subject.to_owned(), body.to_owned().into()).await;
        answer.map_err(|error| error.kind())
    }

    async fn is_refused(&self, subject: &str, body: &str) {
        match self.ask(subject, body).await {
            Err(RequestErrorKind::NoResponders) => {}
            // The account's own JetStream, of which it has none, may answer in its place.
            Ok(answer) if is_error(&answer.payload) => {}
            other => panic!("{subject} was not refused: {other:?}"),
        }
    }
}

fn is_error(payload: &[u8]) -> bool {
    serde_json::from_slice::<Value>(payload).is_ok_and(|answer| answer.get("error").is_some())
}

fn provider_reach() -> NodeReach {
    NodeReach {
        providers: BTreeSet::new(),
        files: BTreeSet::from([Digest::of(b"of attic")]),
        provides: vec![Provides {
            module: "postgres".parse().unwrap(),
            provisions: BTreeSet::from(["postgres-database".parse().unwrap()]),
            answers: Answered::Everybody,
        }],
    }
}

#[tokio::test]
async fn an_answer_cannot_be_sent_into_a_bucket_or_to_the_api() {
    let scene = Scene::set().await;
    let service =
        Service::start(&scene.all, &"mesh-vault".parse().unwrap(), "1.0.0", "a vault").await.unwrap();
    service
        .answer("mesh-vault.secret.*", MAX_QUESTION, |_| async { Ok(json!({"from": "the vault"})) })
        .await
        .unwrap();
    let targets = [
        "$KV.mesh-provisioner_applied.cellar.notes",
        "$KV.mesh-provisioner_registry.secret",
        "$KV.mesh-controller_assignments.cellar.notes",
        "$JS.API.STREAM.DELETE.KV_postgres_bound",
        "$JS.API.STREAM.CREATE.evil",
        "$JS.API.STREAM.PURGE.KV_mesh-provisioner_registry",
    ];
    for target in targets {
        for (asked, body) in [
            (OWN_KEY, r#"{"name":"evil","subjects":["evil"]}"#),
            (OWN_GET, ""),
            ("mesh-vault.secret.attic", "{}"),
        ] {
            scene.attic.nats().publish_with_reply(asked, target, body.into()).await.unwrap();
        }
    }
    scene.is_unharmed().await;
    service.stop().await;
}

#[tokio::test]
async fn a_header_cannot_roll_up_a_bucket() {
    let scene = Scene::set().await;
    for how in ["all", "sub"] {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Rollup", how);
        let answer = scene.attic.nats().request_with_headers(OWN_KEY, headers, "evil".into()).await.unwrap();
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        assert!(
            answer["error"]["description"].as_str().unwrap().contains("rollup not permitted"),
            "{answer}"
        );
    }
    assert_eq!(scene.get(Bucket::applied(), "attic.notes").await, "of attic");
    scene.is_unharmed().await;
}

#[tokio::test]
async fn keys_of_others_are_neither_read_nor_written_and_the_error_says_who_and_what() {
    let scene = Scene::set().await;
    let denied = |doing, bucket: &Bucket, key: &str| KvError::Denied {
        doing,
        bucket: bucket.to_string(),
        key: key.to_owned(),
        account: "attic".to_owned(),
    };
    let others = [
        (Bucket::applied(), "cellar.notes"),
        (Bucket::needs(), "cellar.notes.bound.db"),
        (Bucket::collect(), "cellar.motd.notes"),
        (Bucket::assignments(), "cellar.notes"),
        (Bucket::config(), "cellar.notes"),
        (Bucket::credentials(), "cellar.notes.db"),
        (Bucket::plan(), "current"),
        (Bucket::bound(&"redis".parse().unwrap()), "attic.notes.redis"),
    ];
    for (bucket, key) in others {
        let kv = Kv::new(&scene.attic, bucket.clone());
        let begun = std::time::Instant::now();
        assert_eq!(kv.get(key).await.unwrap_err(), denied("get", &bucket, key));
        assert_eq!(kv.put(key, "evil").await.unwrap_err(), denied("put", &bucket, key));
        assert_eq!(kv.delete(key).await.unwrap_err(), denied("delete", &bucket, key));
        assert!(begun.elapsed() < Duration::from_millis(500), "it is told at once");
    }
    for (bucket, key) in [
        (Bucket::registry(), "secret"),
        (Bucket::seats(), "mesh-vault"),
        (Bucket::assignments(), "attic.notes"),
        (Bucket::config(), "attic.notes"),
        (Bucket::credentials(), "attic.notes.db"),
        (Bucket::files(), "0123.0"),
    ] {
        let kv = Kv::new(&scene.attic, bucket.clone());
        assert_eq!(kv.put(key, "evil").await.unwrap_err(), denied("put", &bucket, key));
    }
    scene.is_unharmed().await;
}

#[tokio::test]
async fn the_api_answers_for_nothing_but_what_is_granted() {
    let scene = Scene::set().await;
    let cellars = "$KV.mesh-provisioner_applied.cellar.>";
    let mut tried = Vec::new();
    for api in ["$JS.API", "bus.API"] {
        for rest in [
            "INFO",
            "STREAM.NAMES",
            "STREAM.LIST",
            "STREAM.CREATE.evil",
            "STREAM.INFO.KV_mesh-provisioner_applied",
            "STREAM.DELETE.KV_mesh-provisioner_applied",
            "STREAM.PURGE.KV_mesh-provisioner_applied",
            "STREAM.UPDATE.KV_mesh-provisioner_applied",
            "STREAM.SNAPSHOT.KV_mesh-provisioner_applied",
            "STREAM.MSG.GET.KV_mesh-provisioner_applied",
            "STREAM.MSG.DELETE.KV_mesh-provisioner_applied",
            "DIRECT.GET.KV_mesh-provisioner_applied",
            "DIRECT.GET.KV_mesh-provisioner_applied.$KV.mesh-provisioner_applied.cellar.notes",
            "CONSUMER.NAMES.KV_mesh-provisioner_applied",
            "CONSUMER.LIST.KV_mesh-provisioner_applied",
            "CONSUMER.INFO.KV_mesh-provisioner_applied.cellar-read",
            "CONSUMER.CREATE.KV_mesh-provisioner_applied",
            "CONSUMER.CREATE.KV_mesh-provisioner_applied.attic-read",
            "CONSUMER.DURABLE.CREATE.KV_mesh-provisioner_applied.attic-read",
            "CONSUMER.DELETE.KV_mesh-provisioner_applied.cellar-read",
            "CONSUMER.MSG.NEXT.KV_mesh-provisioner_applied.cellar-read",
            "CONSUMER.CREATE.KV_mesh-provisioner_applied.cellar-read.$KV.mesh-provisioner_applied.attic.>",
            "CONSUMER.CREATE.KV_mesh-controller_files.attic-read.$KV.mesh-controller_files.>",
            "CONSUMER.PAUSE.KV_mesh-provisioner_applied.cellar-read",
        ] {
            tried.push(format!("{api}.{rest}"));
        }
        tried.push(format!("{api}.CONSUMER.CREATE.{APPLIED}.attic-read.{cellars}"));
        tried.push(format!("{api}.CONSUMER.CREATE.{APPLIED}.attic-read.$KV.mesh-provisioner_applied.>"));
    }
    tried.extend(
        ["mesh-vault.secret.cellar", "mesh-vault.consumers.cellar", "mesh-vault.put", "mesh-vault.list"]
            .map(str::to_owned),
    );
    tried.extend(
        ["mesh-controller.apply", "mesh-controller.enroll.cellar", "$SYS.REQ.SERVER.PING", "$SRV.PING"]
            .map(str::to_owned),
    );
    for subject in tried {
        scene.is_refused(&subject, r#"{"last_by_subj":"$KV.mesh-provisioner_applied.cellar.notes"}"#).await;
    }
    scene.is_unharmed().await;
}

#[tokio::test]
async fn a_consumer_has_the_one_filter_that_its_subject_has() {
    let scene = Scene::set().await;
    let create = format!("bus.API.CONSUMER.CREATE.{APPLIED}.attic-read.$KV.mesh-provisioner_applied.attic.>");
    let other = "$KV.mesh-provisioner_applied.cellar.>";
    for filters in [
        json!({"filter_subject": other}),
        json!({"filter_subjects": [other]}),
        json!({"filter_subjects": ["$KV.mesh-provisioner_applied.attic.>", other]}),
        json!({"filter_subject": "$KV.mesh-provisioner_applied.attic.>", "filter_subjects": [other]}),
        json!({}),
    ] {
        let mut config =
            json!({"name": "attic-read", "deliver_policy": "all", "ack_policy": "none", "mem_storage": true});
        config.as_object_mut().unwrap().extend(filters.as_object().unwrap().clone());
        let body = json!({"stream_name": APPLIED, "config": config}).to_string();
        let answer: Value =
            serde_json::from_slice(&scene.ask(&create, &body).await.unwrap().payload).unwrap();
        assert!(answer.get("error").is_some(), "{filters}: {answer}");
    }
}

#[tokio::test]
async fn listening_hears_nothing_of_others() {
    let scene = Scene::set().await;
    let mut all = scene.attic.nats().subscribe(">").await.unwrap();
    scene.attic.nats().flush().await.unwrap();
    Kv::new(&scene.all, Bucket::assignments()).put("cellar.notes", "of the controller").await.unwrap();
    // Its own question is heard, and its answer.
    Kv::new(&scene.attic, Bucket::applied()).put("attic.notes", "of attic").await.unwrap();
    let mut heard = Vec::new();
    while let Ok(Some(message)) = tokio::time::timeout(Duration::from_millis(200), all.next()).await {
        heard.push(message.subject.to_string());
    }
    assert!(heard.iter().all(|subject| subject == OWN_KEY || subject.starts_with("_INBOX.")), "{heard:?}");
}

/// What is left to a node: it can aim what it wrote at a subject that somebody listens on.
#[tokio::test]
async fn what_is_pushed_at_a_verb_or_a_bucket_is_not_acted_on() {
    let scene = Scene::set().await;
    let (acted, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let service =
        Service::start(&scene.all, &"mesh-controller".parse().unwrap(), "1.0.0", "…").await.unwrap();
    for verb in ["mesh-controller.apply", "mesh-controller.enroll.*"] {
        let acted = acted.clone();
        let handler = move |ask: verb::Ask| {
            acted.send(ask.body).unwrap();
            async { Ok(json!({})) }
        };
        service.answer(verb, MAX_QUESTION, handler).await.unwrap();
    }
    let apply = "mesh-controller.apply.operator=local";
    let targets = [
        apply,
        "mesh-controller.enroll.cellar",
        "$KV.mesh-provisioner_registry.secret",
        "$KV.mesh-controller_assignments.cellar.notes",
        "$JS.API.STREAM.DELETE.KV_postgres_bound",
    ];
    // The server pushes at nobody who listens with a wildcard alone, as verbs do: so somebody else listens too.
    let mut raw = scene.all.nats().subscribe(apply).await.unwrap();
    for target in targets {
        let filter = "$KV.mesh-provisioner_applied.attic.>";
        let _ = scene.ask(&format!("bus.API.CONSUMER.DELETE.{APPLIED}.attic-read"), "").await;
        let config = json!({"name": "attic-read", "deliver_policy": "all", "ack_policy": "none",
            "filter_subject": filter, "deliver_subject": target});
        let body = json!({"stream_name": APPLIED, "config": config}).to_string();
        scene.ask(&format!("bus.API.CONSUMER.CREATE.{APPLIED}.attic-read.{filter}"), &body).await.unwrap();
        for i in 0..3 {
            Kv::new(&scene.attic, Bucket::applied()).put("attic.notes", format!("{i}")).await.unwrap();
        }
        scene.is_unharmed().await;
    }
    // Whoever may ask is answered, after all that was pushed.
    let operator = scene.bus.operator().await;
    verb::ask::<Value>(&operator, "mesh-controller.apply", &json!({"real": true})).await.unwrap();
    assert_eq!(seen.recv().await.unwrap(), r#"{"real":true}"#);
    assert!(seen.try_recv().is_err());
    // The server did push: this is no test of nothing.
    let pushed = tokio::time::timeout(Duration::from_secs(1), raw.next()).await.unwrap().unwrap();
    assert_eq!(pushed.subject.as_str(), OWN_KEY);
    assert!(pushed.reply.unwrap().starts_with("$JS.ACK."));
    service.stop().await;
}

#[tokio::test]
async fn a_mirror_of_what_is_not_granted_says_so() {
    let scene = Scene::set().await;
    let mirror = Mirror::open(&scene.attic, Bucket::applied(), "cellar.>", Usage::read());
    let mut freshness = mirror.freshness();
    let stale = freshness.wait_for(|f| matches!(f, mesh_bus::mirror::Freshness::Stale(_)));
    tokio::time::timeout(Duration::from_secs(3), stale).await.unwrap().unwrap();
    assert!(mirror.snapshot().is_empty());
}

#[tokio::test]
async fn a_node_that_is_removed_is_out_at_once_and_stays_out() {
    let scene = Scene::set().await;
    let account = scene.attic.account().clone();
    scene.bus.accounts.remove(&account).await.unwrap();
    let kv = Kv::new(&scene.attic, Bucket::applied());
    assert!(kv.put("attic.notes", "evil").await.is_err());
    scene.bus.kill_server().await;
    assert!(kv.put("attic.notes", "evil").await.is_err());
    assert_eq!(scene.get(Bucket::applied(), "attic.notes").await, "of attic");
}

/// Who asks for a key with a wildcard in it gets the newest that fits, so a grant must be no wider than its
/// filter.
#[tokio::test]
async fn a_wildcard_for_a_key_brings_nothing_of_others() {
    let scene = Scene::set().await;
    let files = Kv::new(&scene.all, Bucket::files());
    files.put(format!("{}.0", Digest::of(b"of attic")), "of attic").await.unwrap();
    files.put(format!("{}.0", Digest::of(b"of cellar")), "of cellar").await.unwrap();
    let own = format!("$KV.mesh-controller_files.{}", Digest::of(b"of attic"));
    let get = "$JS.API.DIRECT.GET.KV_mesh-controller_files";
    let newest = scene.ask(&format!("{get}.{own}.*"), "").await.unwrap();
    assert_eq!(newest.payload, "of attic");
    for key in [">", "*", "*.*", "*.0"] {
        scene.is_refused(&format!("{get}.$KV.mesh-controller_files.{key}"), "").await;
    }
    let all = "$KV.mesh-controller_files.>";
    for body in [
        json!({"next_by_subj": all}),
        json!({"last_by_subj": all}),
        json!({"multi_last": [all]}),
        json!({"seq": 2}),
        json!({"seq": 1, "batch": 10}),
    ] {
        let answer = scene.ask(&format!("{get}.{own}.0"), &body.to_string()).await.unwrap();
        assert_eq!(answer.status.map(|status| status.as_u16()), Some(408), "{body}: {answer:?}");
    }
}

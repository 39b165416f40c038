//! A whole node on a real bus, and without it.

use std::{collections::BTreeSet, path::Path, time::Duration};

use mesh_bus::{
    Bucket, Bus, Creds, FirstTry, Kv,
    account::Account,
    grants::NodeReach,
    testing,
    verb::{MAX_QUESTION, Service, VerbError},
};
use mesh_model::{digest::Digest, name::NodeName, wire::Timestamp};
use mesh_node::{config::Config, host::Program, service};
use mesh_seal::{DigestKey, SealingKey, SigningKey, SystemRandom};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, TESTBED};

const TEMPLATE: &[u8] = b"on ${machine.name}\n";

struct Mesh {
    bus: testing::Bus,
    bench: Bench,
    creds: Creds,
    sealing: SealingKey,
    signing: SigningKey,
    digests: DigestKey,
    _vault: Service,
}

struct Running {
    stop: CancellationToken,
    task: JoinSet<Result<(), service::Error>>,
}

impl Running {
    async fn stop(mut self) {
        self.stop.cancel();
        self.task.join_next().await.unwrap().unwrap().unwrap();
    }
}

impl Mesh {
    async fn new() -> Self {
        let bus = testing::Bus::start().await;
        let files = BTreeSet::from([Digest::of(TEMPLATE)]);
        bus.node("cellar", &NodeReach { files, ..NodeReach::default() }).await;
        let creds = bus.authority.creds(&Account::Node("cellar".parse::<NodeName>().unwrap()));
        let signing = SigningKey::generate(&mut SystemRandom).unwrap();
        let vault = pins(&bus, &signing).await;
        Self {
            bench: Bench::new(),
            creds,
            sealing: SealingKey::generate(),
            digests: DigestKey::generate(&mut SystemRandom).unwrap(),
            signing,
            _vault: vault,
            bus,
        }
    }

    async fn start(&self) -> Running {
        let bus = Bus::connect(self.bus.url(), &self.creds, FirstTry::IsRepeated).await.unwrap();
        let config = Config {
            mesh: "home".parse().unwrap(),
            node: "cellar".parse().unwrap(),
            state: self.bench.state(),
            bus,
            sealing: self.sealing.clone(),
            signer: self.signing.verifying(),
            digests: self.digests.clone(),
            program: Program { path: TESTBED.into(), arguments: vec!["shim".into()] },
            time_zone: None,
            now: || Timestamp::new(time::OffsetDateTime::now_utc()),
        };
        let stop = CancellationToken::new();
        let mut task = JoinSet::new();
        task.spawn(service::run(config, stop.clone()));
        Running { task, stop }
    }

    async fn put(&self, bucket: Bucket, seat: &str, key: &str, value: impl Into<Vec<u8>>) {
        let kv = Kv::new(&self.bus.seat(seat).await, bucket);
        kv.put(key, value.into()).await.unwrap();
    }

    /// The registry says what the box asks, and the content of its file is there.
    async fn know(&self) {
        for (kind, field) in [("machine", "machine"), ("file", "files")] {
            let entry = json!({"v": 1, "kind": kind, "owner": "mesh-controller",
                "bucket": "mesh-controller_assignments", "key": "<node>.<module>", "field": field});
            self.put(Bucket::registry(), "mesh-provisioner", kind, entry.to_string()).await;
        }
        self.put(Bucket::files(), "mesh-controller", &format!("{}.0", Digest::of(TEMPLATE)), TEMPLATE).await;
    }

    async fn assign(&self, contributes: Value) {
        let (nothing, seen) = (Digest::of(b""), self.bench.seen("starts"));
        let folder = self.bench.state().join("modules/box");
        let script = format!("cat ${{file.name}} >> {}; exec sleep 1000", seen.display());
        let assignment = json!({
            "v": 1, "plan": nothing, "digest": Digest::of_json(&contributes), "node": "cellar", "module": "box",
            "manifest": nothing, "machine": {"name": "cellar"}, "folder": folder, "ports": {}, "dirs": {},
            "access": {}, "seats": {}, "settings": nothing, "contributes": contributes, "secrets": {}, "needs": [],
            "files": {"name": {"digest": Digest::of(TEMPLATE), "size": TEMPLATE.len(), "mode": "0600",
                "on_change": "restart"}},
            "run": {"main": {"exec": ["sh", "-c", script]}}, "provides": {}, "consumers": [],
        });
        self.put(Bucket::assignments(), "mesh-controller", "cellar.box", assignment.to_string()).await;
    }

    async fn of_node(&self, bucket: Bucket, key: &str) -> Option<Value> {
        let operator = self.bus.operator().await;
        let entry = Kv::new(&operator, bucket).get(key).await.unwrap()?;
        Some(serde_json::from_slice(&entry.value).unwrap())
    }

    async fn state(&self) -> Option<String> {
        let applied = self.of_node(Bucket::applied(), "cellar.box").await?;
        Some(applied["state"].as_str().unwrap().to_owned())
    }

    /// Stops the server in its tracks, or lets it go on.
    fn freeze(&self, signal: rustix::process::Signal) {
        let pid = self.bus.server.pid().borrow().and_then(|pid| i32::try_from(pid).ok()).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
    }
}

/// A vault that takes every key, and makes nothing.
async fn pins(bus: &testing::Bus, signing: &SigningKey) -> Service {
    let service =
        Service::start(&bus.seat("mesh-vault").await, &"mesh-vault".parse().unwrap(), "0.1.0", "a test")
            .await;
    let service = service.unwrap();
    let verifying = signing.verifying();
    let handler = move |ask: mesh_bus::verb::Ask| {
        let verifying = verifying.clone();
        async move {
            let body: Value = ask.read()?;
            Ok::<_, VerbError>(
                json!({"v": 1, "node": ask.node()?, "recipient": body["recipient"], "verifying": verifying}),
            )
        }
    };
    service.answer("mesh-vault.pin.*", MAX_QUESTION, handler).await.unwrap();
    service
}

/// Waits until `look` finds something, or fails the test saying what was waited for.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), found)
        .await
        .unwrap_or_else(|_| panic!("waited for: {what}"))
}

fn starts(bench: &Bench) -> usize {
    bench.read("starts").lines().filter(|line| *line == "on cellar").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_boots_without_the_bus_and_takes_it_up_when_it_comes() {
    let mesh = Mesh::new().await;
    mesh.know().await;
    mesh.assign(json!({})).await;
    let node = mesh.start().await;
    until("it is applied", async || (mesh.state().await? == "applied").then_some(())).await;
    until("it has started", async || (starts(&mesh.bench) == 1).then_some(())).await;
    node.stop().await;

    mesh.freeze(rustix::process::Signal::STOP);
    let node = mesh.start().await;
    until("it has started again", async || (starts(&mesh.bench) == 2).then_some(())).await;
    mesh.freeze(rustix::process::Signal::CONT);
    mesh.assign(json!({"motd": ["hello"]})).await;
    until("it is live", async || mesh.of_node(Bucket::collect(), "cellar.motd.box").await).await;
    until("it is applied", async || (mesh.state().await? == "applied").then_some(())).await;
    assert_eq!(starts(&mesh.bench), 2, "what is the same is not started again");

    let kv = Kv::new(&mesh.bus.seat("mesh-controller").await, Bucket::assignments());
    kv.delete("cellar.box").await.unwrap();
    until("it is gone", async || mesh.state().await.is_none().then_some(())).await;
    node.stop().await;
    assert!(!mesh.bench.state().join("records/box").exists());
    mesh.freeze(rustix::process::Signal::STOP);
    let node = mesh.start().await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(starts(&mesh.bench), 2, "what was taken back does not come back");
    mesh.freeze(rustix::process::Signal::CONT);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_while_nothing_changes() {
    let mesh = Mesh::new().await;
    mesh.put(Bucket::files(), "mesh-controller", &format!("{}.0", Digest::of(TEMPLATE)), TEMPLATE).await;
    mesh.assign(json!({"motd": ["hello"]})).await;
    let node = mesh.start().await;
    until("it waits", async || (mesh.state().await? == "waiting").then_some(())).await;
    let revisions = async || {
        let operator = mesh.bus.operator().await;
        let (applied, collect) =
            (Kv::new(&operator, Bucket::applied()), Kv::new(&operator, Bucket::collect()));
        let applied = applied.get("cellar.box").await.unwrap().unwrap().revision;
        (applied, collect.get("cellar.motd.box").await.unwrap().unwrap().revision)
    };
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = revisions().await;
    // It is nudged again and again, by what says the same.
    for _ in 0..10 {
        mesh.assign(json!({"motd": ["hello"]})).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(revisions().await, before);
    node.stop().await;
    assert!(
        !Path::new(&mesh.bench.state()).join("records/box/kept.json").exists(),
        "nothing was written yet"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_that_cannot_be_read_leaves_the_last_good_one_and_is_told() {
    let mesh = Mesh::new().await;
    mesh.know().await;
    mesh.assign(json!({"motd": ["hello"]})).await;
    let node = mesh.start().await;
    until("it is applied", async || (mesh.state().await? == "applied").then_some(())).await;
    let spoilt = async |key: &str, value: &str| {
        mesh.put(Bucket::assignments(), "mesh-controller", key, value).await;
        until(&format!("{key} is told for {value}"), async || {
            let applied = mesh.of_node(Bucket::applied(), key).await?;
            applied["why"].as_str().is_some_and(|why| why.contains("its assignment")).then_some(applied)
        })
        .await
    };
    let elsewhere = mesh.of_node(Bucket::assignments(), "cellar.box").await.unwrap().to_string();
    let elsewhere = elsewhere.replace("\"cellar\"", "\"attic\"");
    for value in ["{\"v\": 2}", "not even JSON", &elsewhere] {
        assert_eq!(spoilt("cellar.box", value).await["state"], "applied", "{value}");
    }
    // It never had a good one.
    assert_eq!(spoilt("cellar.other", "{}").await["state"], "failed");
    node.stop().await;

    // Nor does a new start take anything back.
    let node = mesh.start().await;
    until("it has started again", async || (starts(&mesh.bench) == 2).then_some(())).await;
    until("it is applied", async || (mesh.state().await? == "applied").then_some(())).await;
    assert!(mesh.bench.state().join("modules/box/files/name").exists());
    assert!(mesh.of_node(Bucket::collect(), "cellar.motd.box").await.is_some());

    mesh.assign(json!({"motd": ["hello"]})).await;
    until("nothing is told of it any more", async || {
        mesh.of_node(Bucket::applied(), "cellar.box").await?.get("why").is_none().then_some(())
    })
    .await;
    assert_eq!(starts(&mesh.bench), 2);
    node.stop().await;
}

//! The registry is kept right, and the verb answers whoever may ask, in whatever language.

use std::time::Duration;

use mesh_bus::grants::NodeReach;
use mesh_bus::testing::Bus;
use mesh_bus::verb::{AskError, ask};
use mesh_bus::{Bucket, Kv};
use mesh_model::wire::ProvisioningAnswer;
use mesh_provisioner::registry::table;
use mesh_provisioner::{Config, run};
use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The seat, running.
struct Seat {
    stop: CancellationToken,
    task: JoinSet<()>,
}

impl Seat {
    async fn start(bus: &Bus, period: Duration) -> Self {
        let connection = bus.seat("mesh-provisioner").await;
        let config = Config {
            period,
            lease: Duration::from_secs(1),
            ..Config::new(connection, "attic".parse().expect("a name"), OffsetDateTime::now_utc)
        };
        let stop = CancellationToken::new();
        let mut task = JoinSet::new();
        let told = stop.clone();
        task.spawn(async move { run(config, told).await.expect("it ends when it is told to") });
        Self { stop, task }
    }

    async fn stop(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.task.join_next().await {
            ended.expect("it does not panic");
        }
    }
}

async fn until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn answers(bus: &mesh_bus::Bus) {
    until("the verb answers", || async {
        ask::<Value>(bus, "mesh-provisioner.provisioning", &json!({})).await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn the_registry_is_written_once_and_heals() {
    let bus = Bus::start().await;
    let all = bus.all().await;
    let kv = Kv::new(&all, Bucket::registry());
    let seat = Seat::start(&bus, Duration::from_secs(3600)).await;
    answers(&all).await;
    let first = kv.get("secret").await.unwrap().unwrap();
    assert_eq!(first.value, serde_json::to_vec(&table()[1]).unwrap());
    seat.stop().await;

    kv.put("weather", "{}").await.unwrap();
    kv.put("port", "{}").await.unwrap();
    let seat = Seat::start(&bus, Duration::from_millis(50)).await;
    answers(&all).await;
    assert_eq!(kv.get("weather").await.unwrap(), None);
    assert_ne!(kv.get("port").await.unwrap().unwrap().value, "{}");
    assert_eq!(kv.get("secret").await.unwrap().unwrap(), first, "what is right is left alone");

    kv.put("port", "{}").await.unwrap();
    until("it heals within a period", || async { kv.get("port").await.unwrap().unwrap().value != "{}" })
        .await;
    seat.stop().await;
}

#[tokio::test]
async fn a_plain_client_asks_what_a_node_has_told() {
    let bus = Bus::start().await;
    let seat = Seat::start(&bus, Duration::from_secs(3600)).await;
    let operator = bus.operator().await;
    answers(&operator).await;
    let node = bus.node("cellar", &NodeReach::default()).await;
    let need = json!({"v": 1, "node": "cellar", "module": "notes", "kind": "config", "name": "title",
        "state": "met", "owner": "mesh-controller", "since": "2026-12-01T09:00:00.000Z"});
    Kv::new(&node, Bucket::needs()).put("cellar.notes.config.title", need.to_string()).await.unwrap();
    Kv::new(&node, Bucket::needs()).put("cellar.nonsense", "?").await.unwrap();
    let question = json!({"what": "needs", "node": "cellar"}).to_string();
    until("the mirror has seen both", || async {
        let answer = operator.nats().request("mesh-provisioner.provisioning", question.clone().into()).await;
        let answer: Value = serde_json::from_slice(&answer.unwrap().payload).unwrap();
        answer["entries"] == json!([need]) && answer["misshapen"][0]["key"] == "cellar.nonsense"
    })
    .await;
    seat.stop().await;
}

#[tokio::test]
async fn a_question_that_makes_no_sense_is_refused_and_never_empty() {
    let bus = Bus::start().await;
    let seat = Seat::start(&bus, Duration::from_secs(3600)).await;
    let operator = bus.operator().await;
    answers(&operator).await;
    for (question, says) in [
        (json!({"what": "weather"}), "`weather` is none of `registry`, `needs`, `applied` and `collect`"),
        (json!({"what": "needs", "collection": "motd"}), "`collection` goes with `collect` alone"),
        (json!({"limit": 0}), "must be 1 to 1000"),
        (json!({"node": "At tic"}), "is not a name"),
    ] {
        let error = ask::<ProvisioningAnswer>(&operator, "mesh-provisioner.provisioning", &question).await;
        let Err(AskError::Refused { refused, .. }) = error else {
            panic!("{question} was answered: {error:?}")
        };
        assert_eq!(refused.code, "bad-request");
        assert!(refused.message.contains(says), "{}", refused.message);
    }
    seat.stop().await;
}

#[tokio::test]
async fn it_is_a_micro_service_and_a_node_may_not_ask() {
    let bus = Bus::start().await;
    let seat = Seat::start(&bus, Duration::from_secs(3600)).await;
    let operator = bus.operator().await;
    answers(&operator).await;
    for word in ["PING", "INFO", "STATS"] {
        let answer =
            operator.nats().request(format!("$SRV.{word}.mesh-provisioner"), "".into()).await.unwrap();
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        assert_eq!(answer["name"], "mesh-provisioner", "{word}: {answer}");
    }
    let node = bus.node("cellar", &NodeReach::default()).await;
    let refused = ask::<Value>(&node, "mesh-provisioner.provisioning", &json!({})).await;
    assert!(matches!(refused, Err(AskError::Unreachable { .. })), "{refused:?}");
    seat.stop().await;
    let gone = ask::<Value>(&operator, "mesh-provisioner.provisioning", &json!({})).await;
    assert!(matches!(gone, Err(AskError::Unreachable { .. })), "{gone:?}");
}

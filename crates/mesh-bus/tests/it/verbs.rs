//! Verbs across accounts.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use mesh_bus::client;
use mesh_bus::grants::NodeReach;
use mesh_bus::testing::Bus;
use mesh_bus::verb::{self, Ask, AskError, MAX_QUESTION, Service, VerbError};
use serde_json::{Value, json};

async fn vault(bus: &client::Bus) -> Service {
    let service =
        Service::start(bus, &"mesh-vault".parse().unwrap(), "1.2.3", "keeps secrets").await.unwrap();
    service.answer("mesh-vault.secret.*", MAX_QUESTION, secret).await.unwrap();
    service.answer("mesh-vault.list", MAX_QUESTION, list).await.unwrap();
    service
}

async fn secret(ask: Ask) -> Result<Value, VerbError> {
    let body: Value = ask.read()?;
    match body["want"].as_str() {
        Some("panic") => panic!("as asked"),
        Some("much") => Ok(json!("x".repeat(2 * 1024 * 1024))),
        Some("refusal") => Err(VerbError::new("missing-secret", "there is none").help("declare it")),
        _ => Ok(json!({"node": ask.node()?, "body": body})),
    }
}

async fn list(ask: Ask) -> Result<Value, VerbError> {
    Ok(json!({"by": ask.by.to_string()}))
}

#[tokio::test]
async fn a_node_asks_under_its_own_name_and_is_answered_in_every_case() {
    let bus = Bus::start().await;
    let holder = bus.seat("mesh-vault").await;
    let service = vault(&holder).await;
    let node = bus.node("attic", &NodeReach::default()).await;
    let ask = async |verb: &str, want: &str| verb::ask::<Value>(&node, verb, &json!({"want": want})).await;

    let answer = ask("mesh-vault.secret.attic", "admin").await.unwrap();
    assert_eq!(answer, json!({"node": "attic", "body": {"want": "admin"}}));
    for (want, code) in [("refusal", "missing-secret"), ("panic", "internal"), ("much", "too-large")] {
        match ask("mesh-vault.secret.attic", want).await {
            Err(AskError::Refused { refused, .. }) => assert_eq!(refused.code, code),
            other => panic!("{want}: {other:?}"),
        }
    }
    for (verb, want) in [
        ("mesh-vault.secret.cellar", "admin"),
        ("mesh-vault.secret", "admin"),
        ("mesh-vault.list", "all"),
        ("mesh-vault.list.attic", "all"),
        ("mesh-vault.pin.attic", "it"),
    ] {
        let refused = ask(verb, want).await.unwrap_err();
        assert!(matches!(refused, AskError::Unreachable { .. }), "{verb}: {refused:?}");
    }
    let unreadable = node.nats().request("mesh-vault.secret.attic", "{".into()).await.unwrap();
    assert!(unreadable.payload.starts_with(br#"{"error":{"code":"bad-request""#), "{unreadable:?}");
    let long = "x".repeat(MAX_QUESTION);
    assert!(matches!(
        ask("mesh-vault.secret.attic", &long).await,
        Err(AskError::Unreachable { .. } | AskError::Refused { .. })
    ));
    service.stop().await;
    let gone = ask("mesh-vault.secret.attic", "admin").await;
    assert!(matches!(gone, Err(AskError::Unreachable { .. })), "{gone:?}");
}

#[tokio::test]
async fn an_operator_asks_the_operators_verbs_and_sees_the_services() {
    let bus = Bus::start().await;
    let holder = bus.seat("mesh-vault").await;
    let service = vault(&holder).await;
    let operator = bus.operator().await;
    let bob = bus.operator_named("bob").await;
    let controller = bus.seat("mesh-controller").await;
    for (who, name) in
        [(&operator, "operator=local"), (&bob, "operator=bob"), (&controller, "seat=mesh-controller")]
    {
        let answer: Value = verb::ask(who, "mesh-vault.list", &json!({"by": "operator=eve"})).await.unwrap();
        assert_eq!(answer, json!({"by": name}), "who asks is who the bus says it is");
    }
    for verb in [
        "mesh-vault.secret",
        "mesh-vault.secret.attic",
        "mesh-vault.secret.operator=local",
        "mesh-vault.list.operator=bob",
        "mesh-vault.list.operator=local",
        "mesh-vault.list.attic",
        "mesh-vault.*",
        "mesh-vault.>",
    ] {
        let begun = Instant::now();
        let refused = verb::ask::<Value>(&operator, verb, &json!({})).await;
        assert!(matches!(refused, Err(AskError::Unreachable { .. })), "{verb}: {refused:?}");
        assert!(begun.elapsed() < Duration::from_millis(500), "{verb}: it is told at once");
    }
    for (question, field) in [("PING", "id"), ("INFO", "endpoints"), ("STATS", "started")] {
        let inbox = operator.nats().new_inbox();
        let mut answers = operator.nats().subscribe(inbox.clone()).await.unwrap();
        let subject = format!("$SRV.{question}.mesh-vault");
        operator.nats().publish_with_reply(subject, inbox, "".into()).await.unwrap();
        let answer = tokio::time::timeout(Duration::from_secs(2), answers.next()).await.unwrap().unwrap();
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        assert_eq!(answer["name"], "mesh-vault");
        assert!(answer.get(field).is_some(), "{answer}");
    }
    service.stop().await;
}

//! The table of grants, tried on a real server: each account does all that it may, and fails at all else.
//!
//! [`rows`] says what each may; [`attempts`] makes everything that it could try, from every bucket, key and way there is.
//! What the rows do not allow is refused at once, and afterwards the server is as it was before.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::{HeaderMap, Message};
use futures_util::StreamExt;
use mesh_bus::client::{self, RequestError};

use crate::table::attempts::{Attempt, Expect, all, said};
use crate::table::rows::{Row, covers};
use crate::table::scene::{Scene, consumer_of, is_error};

mod attempts;
mod rows;
mod scene;

/// What came of an attempt.
#[derive(Debug)]
enum Outcome {
    Refused,
    Answered(Message),
    /// Neither.
    Unclear(#[expect(dead_code, reason = "it is told where the test fails")] RequestError),
}

async fn try_it(bus: &client::Bus, attempt: &Attempt) -> Outcome {
    if attempt.subject.contains(".CONSUMER.MSG.NEXT.") && attempt.expect == Expect::Answered {
        return fetch(bus, attempt).await;
    }
    let mut headers = HeaderMap::new();
    for (name, value) in &attempt.headers {
        headers.insert(*name, value.as_str());
    }
    match bus.ask(&attempt.subject, headers, attempt.body.clone()).await {
        Err(RequestError::NoResponders { .. } | RequestError::Denied { .. }) => Outcome::Refused,
        Err(other) => Outcome::Unclear(other),
        Ok(answer) if is_error(&answer.payload) => Outcome::Refused,
        // A get with something wrong in it.
        Ok(answer) if answer.status.is_some_and(|status| status.as_u16() == 408) => Outcome::Refused,
        Ok(answer) => Outcome::Answered(answer),
    }
}

/// What is fetched bears its own subject, so an inbox of its own has to wait for it.
async fn fetch(bus: &client::Bus, attempt: &Attempt) -> Outcome {
    let inbox = bus.nats().new_inbox();
    let mut answers = bus.nats().subscribe(inbox.clone()).await.unwrap();
    let body = attempt.body.clone().into();
    bus.nats().publish_with_reply(attempt.subject.clone(), inbox, body).await.unwrap();
    match tokio::time::timeout(Duration::from_secs(2), answers.next()).await {
        Ok(Some(answer)) if answer.status.is_some_and(|status| status.as_u16() == 503) => Outcome::Refused,
        Ok(Some(answer)) => Outcome::Answered(answer),
        _ => Outcome::Unclear(RequestError::TimedOut { subject: attempt.subject.clone() }),
    }
}

#[tokio::test]
async fn what_is_not_in_the_table_is_refused_at_once_and_changes_nothing() {
    let scene = Scene::set().await;
    let mut wrong = Vec::new();
    for (bus, rows) in &scene.accounts {
        let before = scene.state().await;
        let attempts = all(bus.account(), rows, &scene.file);
        for attempt in attempts.iter().filter(|attempt| attempt.expect == Expect::Nothing) {
            bus.nats().publish(attempt.subject.clone(), attempt.body.clone().into()).await.unwrap();
        }
        let refused: Vec<_> = attempts.iter().filter(|attempt| attempt.expect == Expect::Refused).collect();
        println!("{}: {} things that it may not do", bus.account(), refused.len());
        for attempt in refused {
            match try_it(bus, attempt).await {
                Outcome::Refused => {}
                other => wrong.push(format!("{} on {attempt:?}: {other:?}", bus.account())),
            }
        }
        let after = scene.state().await;
        for (stream, held) in &before {
            if after.get(stream) != Some(held) {
                wrong.push(format!(
                    "{} has changed {stream}:\n{held}\n{:?}",
                    bus.account(),
                    after.get(stream)
                ));
            }
        }
        assert_eq!(before.len(), after.len(), "streams came or went");
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

#[tokio::test]
async fn all_that_is_in_the_table_works() {
    let scene = Scene::set().await;
    let mut wrong = Vec::new();
    for (bus, rows) in &scene.accounts {
        // What one deletes the next may want to read.
        scene.watch().await;
        let attempts = all(bus.account(), rows, &scene.file);
        let mut used: BTreeSet<&Row> = BTreeSet::new();
        for attempt in
            attempts.iter().filter(|attempt| matches!(attempt.expect, Expect::Answered | Expect::Heard(_)))
        {
            match (try_it(bus, attempt).await, &attempt.expect) {
                (Outcome::Answered(answer), Expect::Heard(subject)) => {
                    let heard = said(&answer.payload).unwrap()["heard"].as_str().unwrap().to_owned();
                    if heard != *subject {
                        wrong.push(format!("{} on {attempt:?} was heard on {heard}", bus.account()));
                    }
                }
                (Outcome::Answered(_), _) => {}
                (other, _) => wrong.push(format!("{} on {attempt:?}: {other:?}", bus.account())),
            }
            used.extend(&attempt.row);
        }
        println!("{}: {} rows", bus.account(), used.len());
        let unused: Vec<_> = rows.iter().filter(|row| !used.contains(row)).collect();
        assert!(unused.is_empty(), "{}: nothing tries {unused:?}", bus.account());
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// What answers could be aimed at, by whoever may ask for one.
const TARGETS: &[&str] = &[
    "$KV.mesh-provisioner_applied.loft.notes",
    "$KV.mesh-provisioner_registry.secret",
    "$KV.mesh-controller_assignments.cellar.notes",
    "$KV.mesh-seats.other-leader",
    "$KV.postgres_bound.loft.notes.postgres-database.db",
    "$JS.API.STREAM.DELETE.KV_postgres_bound",
    "$JS.API.STREAM.PURGE.KV_mesh-provisioner_registry",
    "$JS.API.STREAM.CREATE.evil",
    "$JS.API.CONSUMER.DELETE.KV_mesh-provisioner_applied.seat=mesh-vault-read",
    "mesh-controller.apply.operator=ada",
    "mesh-vault.secret.loft",
];

/// Everything that is answered, with its answer sent to where it should not go; and what is watched, pushed there.
#[tokio::test]
async fn an_answer_harms_nothing_wherever_it_is_sent() {
    let scene = Scene::set().await;
    let evil = r#"{"name":"evil","subjects":["evil"]}"#;
    for (bus, rows) in scene.accounts.iter().filter(|(bus, _)| bus.account().is_apart()) {
        let (of_others, names) = (scene.of_others(rows).await, scene.names().await);
        let attempts = all(bus.account(), rows, &scene.file);
        let mut tried: BTreeSet<&Row> = BTreeSet::new();
        for attempt in attempts.iter().filter(|attempt| !attempt.subject.contains(".CONSUMER.DELETE.")) {
            let Some(row) = &attempt.row else { continue };
            if !tried.insert(row) {
                continue;
            }
            for target in TARGETS {
                let mut headers = HeaderMap::new();
                headers.insert("Nats-Trace-Dest", *target);
                let (subject, nats) = (attempt.subject.clone(), bus.nats());
                let body = if row.what == "write" { evil } else { &attempt.body };
                nats.publish_with_reply(subject.clone(), *target, body.to_owned().into()).await.unwrap();
                nats.publish_with_reply_and_headers(subject, *target, headers, body.to_owned().into())
                    .await
                    .unwrap();
            }
        }
        for row in rows.iter().filter(|row| row.what == "watch") {
            for target in TARGETS {
                push(bus, row, target).await;
            }
        }
        bus.ask(&format!("$KV.{}.sync", "nowhere"), HeaderMap::new(), "").await.unwrap_err();
        scene.watch().await;
        assert_eq!(scene.of_others(rows).await, of_others, "{}", bus.account());
        assert_eq!(scene.names().await, names, "{}", bus.account());
    }
}

/// Has what is watched pushed at a subject, and writes something to push.
async fn push(bus: &client::Bus, row: &Row, target: &str) {
    let (bucket, name) = (&row.bucket, row.consumer.as_ref().unwrap());
    bus.ask(&format!("bus.API.CONSUMER.DELETE.KV_{bucket}.{name}"), HeaderMap::new(), "").await.unwrap();
    let (call, body) = consumer_of(bucket, name, &row.keys);
    let mut body: serde_json::Value = serde_json::from_str(&body).unwrap();
    body["config"]["deliver_subject"] = target.into();
    body["config"]["deliver_policy"] = "all".into();
    bus.ask(&format!("bus.API.{call}"), HeaderMap::new(), body.to_string()).await.unwrap();
    let key = row.keys.replace('>', "pushed");
    // Where the account may not write what it watches, what is there is pushed.
    let _ = bus.ask(&format!("$KV.{bucket}.{key}"), HeaderMap::new(), "{}").await;
    bus.ask(&format!("bus.API.CONSUMER.DELETE.KV_{bucket}.{name}"), HeaderMap::new(), "").await.unwrap();
}

#[test]
fn a_filter_covers_what_the_bus_says_it_does() {
    for (keys, key, covered) in [
        ("attic.>", "attic.notes", true),
        ("attic.>", "attic", false),
        ("attic.>", "cellar.notes", false),
        ("attic.>", "*.notes", false),
        (">", "*", true),
        ("*.a.*", "x.a.y", true),
        ("*.a.*", "x.a", false),
        ("*.a.*", "x.a.y.z", false),
        ("a.b", "a.*", false),
    ] {
        assert_eq!(covers(keys, key), covered, "{keys} {key}");
    }
}

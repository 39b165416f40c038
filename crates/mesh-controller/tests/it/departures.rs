//! A provider and its consumer that go in one apply: the consumer first, and nobody for ever.

use mesh_bus::{Bucket, Kv};
use mesh_model::wire::Effect;
use serde_json::{Value, json};

use crate::control::{Control, Mesh, until};

/// A node's word on an assignment.
async fn tell(control: &Control, key: &str, digest: &Value, state: &str) {
    let (node, module) = key.split_once('.').expect("a key");
    let told = json!({"v": 1, "node": node, "module": module, "state": state, "plan": digest, "at": "2026-12-01T09:00:00Z"});
    Kv::new(&control.eye, Bucket::applied()).put(key, told.to_string()).await.expect("the eye may write");
}

/// A mesh that is well, and from which all is then taken out.
async fn taken_out() -> Control {
    let control = Control::start().await;
    let first = control.apply(&Mesh::new(), None).await.expect("it takes effect");
    control.in_step().await;
    for key in ["attic.store", "cellar.notes"] {
        let assigned = control.value(Bucket::assignments(), key).await.expect("it is assigned");
        tell(&control, key, &assigned["digest"], "applied").await;
    }
    let second =
        control.apply(&Mesh::with("assign: {}\n"), first.plan.as_ref()).await.expect("it takes effect");
    assert_eq!(second.effect, Effect::Applied);
    let order: Vec<&str> = second.changes.iter().map(|change| change.module.as_str()).collect();
    assert_eq!(order, ["notes", "store"], "as it is planned");
    control
}

async fn stays(control: &Control, why: &str) {
    until(why, || async {
        let status = control.status().await.expect("an answer");
        !status.in_step && status.why.as_deref() == Some(why)
    })
    .await;
}

async fn is_gone(control: &Control, key: &str) -> bool {
    control.value(Bucket::assignments(), key).await.is_none()
}

#[tokio::test]
async fn a_consumer_is_taken_back_before_its_provider() {
    let control = taken_out().await;
    stays(&control, "store@attic stays until its consumers are taken back: notes@cellar").await;
    assert!(is_gone(&control, "cellar.notes").await);
    let before = control.value(Bucket::assignments(), "attic.store").await.unwrap();
    assert_eq!(before["consumers"].as_array().unwrap().len(), 1, "{before}");
    assert!(control.value(Bucket::config(), "attic.store").await.is_some(), "it is an assignment still");

    Kv::new(&control.eye, Bucket::applied()).delete("cellar.notes").await.unwrap();
    stays(&control, "store@attic stays until its provisioner has taken back its consumers").await;
    let released = control.value(Bucket::assignments(), "attic.store").await.unwrap();
    assert_eq!(released["consumers"], json!([]));
    assert_ne!(released["digest"], before["digest"]);

    tell(&control, "attic.store", &released["digest"], "applied").await;
    control.in_step().await;
    assert!(is_gone(&control, "attic.store").await);
    assert!(control.value(Bucket::config(), "attic.store").await.is_none());
    control.stop().await;
}

#[tokio::test]
async fn a_crash_meanwhile_changes_nothing_about_that() {
    let mut control = taken_out().await;
    stays(&control, "store@attic stays until its consumers are taken back: notes@cellar").await;
    control.crash().await;
    control.start_controller().await;
    stays(&control, "store@attic stays until its consumers are taken back: notes@cellar").await;
    Kv::new(&control.eye, Bucket::applied()).delete("cellar.notes").await.unwrap();
    let provisioner = "store@attic stays until its provisioner has taken back its consumers";
    stays(&control, provisioner).await;
    control.crash().await;
    control.start_controller().await;
    stays(&control, provisioner).await;
    let released = control.value(Bucket::assignments(), "attic.store").await.unwrap();
    tell(&control, "attic.store", &released["digest"], "applied").await;
    control.in_step().await;
    assert!(is_gone(&control, "attic.store").await);
    control.stop().await;
}

#[tokio::test]
async fn a_machine_that_is_gone_holds_up_nobody_for_ever() {
    let control = taken_out().await;
    stays(&control, "store@attic stays until its consumers are taken back: notes@cellar").await;
    // Neither of the two nodes ever says another word.
    control.in_step().await;
    assert!(is_gone(&control, "attic.store").await);
    control.stop().await;
}

#[tokio::test]
async fn one_that_is_put_back_meanwhile_stays() {
    let control = taken_out().await;
    stays(&control, "store@attic stays until its consumers are taken back: notes@cellar").await;
    let plan = control.status().await.unwrap().plan.unwrap();
    control.apply(&Mesh::new(), Some(&plan.id)).await.unwrap();
    control.in_step().await;
    let back = control.value(Bucket::assignments(), "attic.store").await.unwrap();
    assert_eq!(back["consumers"].as_array().unwrap().len(), 1, "{back}");
    assert!(!is_gone(&control, "cellar.notes").await);
    control.stop().await;
}

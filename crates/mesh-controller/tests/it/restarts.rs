//! What is in effect outlives the controller and the server, and what a crash left half done is finished.

use std::time::Instant;

use mesh_bus::{Bucket, Kv, bucket};
use mesh_model::wire::Effect;

use crate::control::{Control, Mesh};

#[tokio::test]
async fn a_controller_that_starts_again_writes_nothing_and_knows_all() {
    let mut control = Control::start().await;
    control.node("cellar").await;
    let first = control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    let before = control.revisions().await;
    for _ in 0..3 {
        control.crash().await;
        control.start_controller().await;
        control.in_step().await;
        assert_eq!(control.status().await.unwrap().plan.map(|plan| plan.id), first.plan);
        assert_eq!(control.apply(&Mesh::new(), None).await.unwrap().effect, Effect::Unchanged);
    }
    assert_eq!(control.revisions().await, before);
    control.stop().await;
}

#[tokio::test]
async fn a_plan_that_took_effect_before_a_crash_is_mirrored_after_it() {
    let mut control = Control::start().await;
    let first = control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    control.apply(&Mesh::titled("Ours"), first.plan.as_ref()).await.unwrap();
    control.crash().await;
    // Whatever the crash left: neither, one of them, both.
    Kv::new(&control.eye, Bucket::assignments()).delete("cellar.notes").await.unwrap();
    Kv::new(&control.eye, Bucket::config()).put("cellar.notes", "{}").await.unwrap();
    control.start_controller().await;
    control.in_step().await;
    let config = control.value(Bucket::config(), "cellar.notes").await.unwrap();
    assert_eq!(config["values"]["title"], "Ours");
    assert!(control.value(Bucket::assignments(), "cellar.notes").await.is_some());
    control.stop().await;
}

/// How many keys the buckets of contents and of plans have.
async fn kept(control: &Control) -> (usize, usize) {
    let files = bucket::keys(&control.eye, &Bucket::files()).await.expect("the eye may look");
    let plans = bucket::keys(&control.eye, &Bucket::plan()).await.expect("the eye may look");
    (files.len(), plans.len())
}

#[tokio::test]
async fn what_no_plan_needs_is_swept_out_at_a_start() {
    let mut control = Control::start().await;
    control.hand_over_content(b"nobody's").await;
    let mut follows = None;
    for title in ["One", "Two", "Three"] {
        follows = control.apply(&Mesh::titled(title), follows.as_ref()).await.unwrap().plan;
    }
    control.in_step().await;
    // Four files, two inline, the listing; of each older plan its mesh.yaml and its listing; and nobody's.
    assert_eq!(kept(&control).await, (7 + 2 * 2 + 1, 1 + 3));
    control.crash().await;
    control.start_controller().await;
    control.in_step().await;
    assert_eq!(kept(&control).await, (7, 2));
    assert_eq!(control.apply(&Mesh::titled("Three"), None).await.unwrap().effect, Effect::Unchanged);
    control.stop().await;
}

#[tokio::test]
async fn a_server_that_was_killed_is_found_again() {
    let control = Control::start().await;
    let first = control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    control.bus.kill_server().await;
    crate::control::until("it answers again", || async { control.status().await.is_ok() }).await;
    control.apply(&Mesh::titled("Ours"), first.plan.as_ref()).await.unwrap();
    control.in_step().await;
    let config = control.value(Bucket::config(), "cellar.notes").await.unwrap();
    assert_eq!(config["values"]["title"], "Ours");
    control.stop().await;
}

#[tokio::test]
async fn from_an_accepted_apply_to_the_assignment_takes_milliseconds() {
    let control = Control::start().await;
    control.node("cellar").await;
    let mut follows = control.apply(&Mesh::new(), None).await.unwrap().plan;
    let kv = Kv::new(&control.eye, Bucket::assignments());
    let (mut asked, mut written) = (Vec::new(), Vec::new());
    for i in 0..50 {
        let mesh = Mesh::titled(&format!("Title {i}"));
        control.hand_over(&mesh).await;
        let before = kv.get("cellar.notes").await.unwrap().map(|entry| entry.revision);
        let begun = Instant::now();
        follows = control.apply_as(&control.operator, &mesh, follows.as_ref()).await.unwrap().plan;
        let accepted = begun.elapsed();
        while kv.get("cellar.notes").await.unwrap().map(|entry| entry.revision) == before {}
        asked.push(accepted);
        written.push(begun.elapsed() - accepted);
    }
    asked.sort();
    written.sort();
    println!("asked to accepted: median {:?}, most {:?}", asked[25], asked[49]);
    println!("accepted to written: median {:?}, most {:?}", written[25], written[49]);
    control.stop().await;
}

//! Who joins may do what the plan gives it, from the moment at which the plan takes effect, and no longer.

use mesh_bus::verb::{AskError, ask};
use mesh_bus::{Bucket, Kv};
use mesh_model::wire::{EnrollAnswer, FactsAnswer};
use serde_json::{Value, json};

use crate::control::{Control, Mesh, until};

#[tokio::test]
async fn a_node_may_read_its_assignment_and_not_anothers() {
    let control = Control::start().await;
    let cellar = control.node("cellar").await;
    control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    let assignments = Kv::new(&cellar, Bucket::assignments());
    assert!(assignments.get("cellar.notes").await.unwrap().is_some());
    assignments.get("attic.store").await.unwrap_err();
    assignments.put("cellar.notes", "{}").await.unwrap_err();
    control.stop().await;
}

#[tokio::test]
async fn grants_follow_the_plan() {
    let control = Control::start().await;
    let (attic, cellar) = (control.node("attic").await, control.node("cellar").await);
    let bound = |bus: &mesh_bus::Bus| Kv::new(bus, Bucket::bound(&"store".parse().unwrap()));
    bound(&cellar).get("cellar.notes.database.db").await.unwrap_err();
    let first = control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    bound(&attic).put("cellar.notes.database.db", "{}").await.unwrap();
    assert!(bound(&cellar).get("cellar.notes.database.db").await.unwrap().is_some());
    bound(&cellar).put("cellar.notes.database.db", "{}").await.unwrap_err();
    control.apply(&Mesh::with("assign: {store: attic}\n"), first.plan.as_ref()).await.unwrap();
    control.in_step().await;
    bound(&cellar).get("cellar.notes.database.db").await.unwrap_err();
    control.stop().await;
}

#[tokio::test]
async fn who_joins_after_the_plan_gets_what_the_plan_gives() {
    let control = Control::start().await;
    control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    let attic = control.node("attic").await;
    let bound = Kv::new(&attic, Bucket::bound(&"store".parse().unwrap()));
    until("the grants are there", || async { bound.put("cellar.notes.database.db", "{}").await.is_ok() })
        .await;
    control.stop().await;
}

#[tokio::test]
async fn a_node_tells_of_its_machine_and_joins_once() {
    let control = Control::start().await;
    let cellar = control.node("cellar").await;
    let facts = json!({"root": "/srv/mesh", "held": {"127.0.0.1": [20000], "0.0.0.0": [20001]}});
    ask::<FactsAnswer>(&cellar, "mesh-controller.facts.cellar", &facts).await.unwrap();
    let as_another = ask::<Value>(&cellar, "mesh-controller.facts.attic", &facts).await;
    assert!(matches!(as_another, Err(AskError::Unreachable { .. })), "{as_another:?}");
    let relative = ask::<Value>(&cellar, "mesh-controller.facts.cellar", &json!({"root": "mesh"})).await;
    assert!(matches!(relative, Err(AskError::Refused { .. })), "{relative:?}");

    let other_key = json!({"user": mesh_bus::UserKey::new().public()});
    let refused = ask::<EnrollAnswer>(&cellar, "mesh-controller.enroll.cellar", &other_key).await;
    let Err(AskError::Refused { refused, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(refused.code, "already-joined");

    control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    let store = control.value(Bucket::assignments(), "attic.store").await.unwrap();
    assert_eq!(store["ports"]["sql"], 20002, "the two have one address, and its ports are held: {store}");
    let notes = control.value(Bucket::assignments(), "cellar.notes").await.unwrap();
    assert!(notes["folder"].as_str().unwrap().starts_with("/srv/mesh/"), "{notes}");
    let status = control.status().await.unwrap();
    let cellar = status.nodes.iter().find(|node| node.node.as_str() == "cellar").unwrap();
    assert!(cellar.joined && cellar.seen.is_some() && cellar.root.as_deref() == Some("/srv/mesh"));
    control.stop().await;
}

#[tokio::test]
async fn a_node_that_is_taken_off_is_out_at_once_and_may_join_anew() {
    let control = Control::start().await;
    control.apply(&Mesh::new(), None).await.unwrap();
    let attic = control.node("attic").await;
    control.in_step().await;
    let name = "attic".parse().unwrap();
    let other = mesh_bus::UserKey::new().public();
    control.roster.admit_node(&name, &other).await.unwrap_err();
    control.roster.remove_node(&name).await.unwrap();
    Kv::new(&attic, Bucket::assignments()).get("attic.store").await.unwrap_err();
    let attic = control.node("attic").await;
    let bound = Kv::new(&attic, Bucket::bound(&"store".parse().unwrap()));
    until("it has its rights again", || async { bound.put("cellar.notes.database.db", "{}").await.is_ok() })
        .await;
    control.stop().await;
}

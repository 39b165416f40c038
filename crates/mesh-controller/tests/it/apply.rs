//! A description takes effect, or leaves no trace.

use mesh_bus::verb::ask;
use mesh_bus::{Bucket, Kv};
use mesh_model::refusal::Code;
use mesh_model::wire::{ApplyAnswer, ApplyAsk, Assignment, ChangeKind, Config, Effect};
use serde_json::json;

use crate::control::{Control, Mesh};

#[tokio::test]
async fn what_is_applied_is_in_the_buckets() {
    let control = Control::start().await;
    let answer = control.apply(&Mesh::new(), None).await.unwrap();
    assert_eq!((answer.effect, answer.follows, answer.refusals), (Effect::Applied, None, vec![]));
    let changes: Vec<_> = answer.changes.iter().map(|c| (c.module.as_str(), c.change)).collect();
    assert_eq!(changes, [("store", ChangeKind::Add), ("notes", ChangeKind::Add)]);
    control.in_step().await;

    let notes = control.value(Bucket::assignments(), "cellar.notes").await.unwrap();
    let notes: Assignment = serde_json::from_value(notes).unwrap();
    let mut again = notes.clone();
    again.note_digest();
    assert_eq!(again.digest, notes.digest);
    assert_eq!(Some(notes.plan), answer.plan);
    assert_eq!(notes.needs[0].from.node.as_str(), "attic");
    let config = control.value(Bucket::config(), "cellar.notes").await.unwrap();
    let config: Config = serde_json::from_value(config).unwrap();
    assert_eq!(config.digest(), notes.settings, "a node renders the two together");
    for file in notes.files.values() {
        let kept = Kv::new(&control.eye, Bucket::files()).get(format!("{}.0", file.digest)).await.unwrap();
        assert_eq!(kept.unwrap().value.len() as u64, file.size, "inline or not, the content is there");
    }
    let record = control.value(Bucket::plan(), "current").await.unwrap();
    assert_eq!((&record["id"], &record["by"]), (&json!(answer.plan), &json!("ada")));
    let bound = Kv::new(&control.eye, Bucket::bound(&"store".parse().unwrap()));
    bound.put("cellar.notes.database.db", "{}").await.unwrap();
    let status = control.status().await.unwrap();
    assert!(status.nodes.iter().all(|node| node.planned && !node.joined));
    control.stop().await;
}

#[tokio::test]
async fn a_file_beside_a_manifest_is_read_for_its_placeholders() {
    let mut control = Control::start().await;
    let refused = control.apply(&Mesh::beside("${config.titel}"), None).await.unwrap();
    assert_eq!(refused.effect, Effect::Refused);
    let told: Vec<_> = refused.refusals.iter().map(|one| (one.code, one.file.as_str())).collect();
    assert_eq!(told, [(Code::UnknownPlaceholder, "modules/notes/site.conf")]);
    let mesh = Mesh::beside("${config.title}");
    let applied = control.apply(&mesh, None).await.unwrap();
    assert_eq!(applied.effect, Effect::Applied);
    control.in_step().await;
    // It is read back at a start too.
    control.crash().await;
    control.start_controller().await;
    let again = control.apply(&mesh, applied.plan.as_ref()).await.unwrap();
    assert_eq!((again.effect, again.plan), (Effect::Unchanged, applied.plan));
    control.stop().await;
}

#[tokio::test]
async fn the_same_again_writes_nothing() {
    let control = Control::start().await;
    let first = control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    let before = control.revisions().await;
    for follows in [first.plan.as_ref(), None] {
        let again = control.apply(&Mesh::new(), follows).await.unwrap();
        assert_eq!((again.effect, &again.plan), (Effect::Unchanged, &first.plan));
        assert!(again.changes.iter().all(|change| change.change == ChangeKind::None));
    }
    control.looked().await;
    assert_eq!(control.revisions().await, before);
    control.stop().await;
}

#[tokio::test]
async fn a_changed_setting_touches_that_module_alone() {
    let control = Control::start().await;
    let first = control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    let store = Kv::new(&control.eye, Bucket::assignments()).get("attic.store").await.unwrap().unwrap();
    let second = control.apply(&Mesh::titled("Ours"), first.plan.as_ref()).await.unwrap();
    assert_eq!((second.effect, second.follows), (Effect::Applied, first.plan));
    let changed: Vec<_> = second.changes.iter().filter(|c| c.change != ChangeKind::None).collect();
    assert_eq!((changed.len(), changed[0].module.as_str()), (1, "notes"));
    control.in_step().await;
    let config = control.value(Bucket::config(), "cellar.notes").await.unwrap();
    assert_eq!(config["values"]["title"], "Ours");
    let now = Kv::new(&control.eye, Bucket::assignments()).get("attic.store").await.unwrap().unwrap();
    assert_eq!(now, store, "it is left alone, though its plan is another one");
    control.stop().await;
}

#[tokio::test]
async fn of_two_operators_one_is_told() {
    let control = Control::start().await;
    let bob = control.bus.operator_named("bob").await;
    let first = control.apply(&Mesh::new(), None).await.unwrap();
    let (one, other) = (Mesh::titled("One"), Mesh::titled("Other"));
    control.hand_over(&one).await;
    control.hand_over(&other).await;
    let (one, other) = tokio::join!(
        control.apply_as(&control.operator, &one, first.plan.as_ref()),
        control.apply_as(&bob, &other, first.plan.as_ref()),
    );
    let (won, lost) = match (one, other) {
        (Ok(won), Err(lost)) => ((won, "ada"), lost),
        (Err(lost), Ok(won)) => ((won, "bob"), lost),
        both => panic!("{both:?}"),
    };
    assert_eq!(lost.code, "moved-on");
    assert!(lost.message.contains(won.0.plan.as_ref().unwrap().short()), "{}", lost.message);
    assert!(lost.message.contains(&format!("applied by {}", won.1)), "{}", lost.message);
    let never_seen = control.apply(&Mesh::titled("Third"), None).await.unwrap_err();
    assert_eq!(never_seen.code, "moved-on");
    control.stop().await;
}

#[tokio::test]
async fn who_applied_is_who_the_bus_says_it_was() {
    let control = Control::start().await;
    let mesh = Mesh::new();
    control.hand_over(&mesh).await;
    let claims = json!({"description": mesh.listing(), "by": "bob"});
    let _: ApplyAnswer = ask(&control.operator, "mesh-controller.apply", &claims).await.unwrap();
    assert_eq!(control.status().await.unwrap().plan.unwrap().by, "ada");
    control.stop().await;
}

#[tokio::test]
async fn a_refused_description_leaves_no_trace() {
    let control = Control::start().await;
    let first = control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    let unassigned = Mesh::with("assign: {notes: cellar}\n");
    control.hand_over(&unassigned).await;
    let before = control.revisions().await;
    let answer = control.apply(&unassigned, first.plan.as_ref()).await.unwrap();
    assert_eq!((answer.effect, &answer.plan), (Effect::Refused, &None));
    assert_eq!(answer.refusals[0].code, Code::ProviderNotAssigned, "{:?}", answer.refusals);
    control.looked().await;
    assert_eq!(control.revisions().await, before);
    assert_eq!(control.status().await.unwrap().plan.map(|plan| plan.id), first.plan);
    control.stop().await;
}

#[tokio::test]
async fn a_dry_run_says_what_would_change_and_does_nothing() {
    let control = Control::start().await;
    let mesh = Mesh::new();
    control.hand_over(&mesh).await;
    let before = control.revisions().await;
    let question = ApplyAsk { description: mesh.listing(), follows: None };
    let dry: ApplyAnswer = ask(&control.operator, "mesh-controller.plan", &question).await.unwrap();
    assert_eq!((dry.effect, dry.follows, dry.changes.len()), (Effect::Planned, None, 2));
    assert_eq!(control.revisions().await, before);
    let done = control.apply(&mesh, None).await.unwrap();
    assert_eq!((done.plan, done.changes), (dry.plan, dry.changes));
    control.stop().await;
}

#[tokio::test]
async fn what_is_gone_from_the_plan_is_gone_from_the_buckets() {
    let control = Control::start().await;
    let first = control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    let bound = Bucket::bound(&"store".parse().unwrap());
    let puts = [
        (bound.clone(), "cellar.notes.database.db"),
        (Bucket::applied(), "cellar.notes"),
        (Bucket::applied(), "attic.store"),
        (Bucket::applied(), "shed.notes"),
    ];
    for (bucket, key) in &puts {
        Kv::new(&control.eye, bucket.clone()).put(key, "{}").await.unwrap();
    }
    control.apply(&Mesh::with("assign: {store: attic}\n"), first.plan.as_ref()).await.unwrap();
    control.in_step().await;
    control.looked().await;
    assert_eq!(control.value(Bucket::assignments(), "cellar.notes").await, None);
    assert_eq!(control.value(Bucket::config(), "cellar.notes").await, None);
    assert!(control.value(Bucket::assignments(), "attic.store").await.is_some());
    let mut left = Vec::new();
    for (bucket, key) in puts {
        if control.value(bucket, key).await.is_some() {
            left.push(key);
        }
    }
    assert_eq!(
        left,
        ["cellar.notes", "attic.store"],
        "what a node of the mesh told is the node's to take back"
    );
    control.stop().await;
}

#[tokio::test]
async fn a_bucket_that_somebody_broke_heals() {
    let control = Control::start().await;
    control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    let before = control.value(Bucket::assignments(), "cellar.notes").await;
    let kv = Kv::new(&control.eye, Bucket::assignments());
    kv.put("cellar.notes", "{\"v\":1}").await.unwrap();
    kv.delete("attic.store").await.unwrap();
    kv.put("cellar.stray", "{}").await.unwrap();
    control.looked().await;
    assert_eq!(control.value(Bucket::assignments(), "cellar.notes").await, before);
    assert!(control.value(Bucket::assignments(), "attic.store").await.is_some());
    assert_eq!(control.value(Bucket::assignments(), "cellar.stray").await, None);
    control.stop().await;
}

/// The bus takes any bytes for a key from whoever may write all of a bucket, as a provider may its own.
#[tokio::test]
async fn what_cannot_be_a_key_is_pruned_and_holds_nobody_up() {
    let control = Control::start().await;
    let first = control.apply(&Mesh::new(), None).await.unwrap();
    control.in_step().await;
    let (all, bound) = (control.bus.all().await, Bucket::bound(&"store".parse().unwrap()));
    for key in ["a%b", "cellar.\u{e9}", "cellar.>", "*"] {
        let put = all.nats().request(format!("$KV.{bound}.{key}"), "evil".into()).await.unwrap();
        assert!(put.payload.starts_with(b"{\"stream\""), "{put:?}");
    }
    control.apply(&Mesh::titled("Ours"), first.plan.as_ref()).await.unwrap();
    control.looked().await;
    control.in_step().await;
    let mut left = mesh_bus::bucket::keys(&all, &bound).await.unwrap();
    left.sort();
    assert_eq!(left, ["*", "cellar.>"], "what reads as a filter is left");
    control.stop().await;
}

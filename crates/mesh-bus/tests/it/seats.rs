//! Seats: what their users may do, who holds one, and what nobody writes who held it before.

use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use futures_util::{FutureExt, StreamExt};
use mesh_bus::account::Usage;
use mesh_bus::client::RequestError;
use mesh_bus::grants::NodeReach;
use mesh_bus::kv::KvError;
use mesh_bus::seat::{self, Tenure, Terms};
use mesh_bus::testing::Bus;
use mesh_bus::{Bucket, Kv, Mirror, bucket, client};
use time::OffsetDateTime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn a_seat_writes_what_is_its_own_and_is_told_at_once_what_is_not() {
    let bus = Bus::start().await;
    let rows = [
        ("mesh-vault", Bucket::credentials(), Bucket::registry(), Bucket::assignments()),
        ("mesh-provisioner", Bucket::registry(), Bucket::credentials(), Bucket::needs()),
    ];
    for (seat, own, other, read) in rows {
        let holder = bus.seat(seat).await;
        Kv::new(&holder, own.clone()).put("attic.notes.db", "{}").await.unwrap();
        Kv::new(&holder, own).delete("attic.notes.db").await.unwrap();
        let mirror = Mirror::open(&holder, read, ">", Usage::read());
        mirror.ready().await;
        let begun = Instant::now();
        let refused = Kv::new(&holder, other).put("attic.notes.db", "{}").await;
        assert!(matches!(refused, Err(KvError::Denied { .. })), "{refused:?}");
        assert!(begun.elapsed() < Duration::from_secs(1));
        let lease = Kv::new(&holder, Bucket::seats()).put("mesh-controller", "{}").await;
        assert!(matches!(lease, Err(KvError::Denied { .. })), "{lease:?}");
    }
}

#[tokio::test]
async fn the_controller_writes_its_own_and_deletes_what_nodes_told_and_leaves_the_rest() {
    let bus = Bus::start().await;
    bus.buckets(&[Bucket::bound(&"postgres".parse().unwrap())]).await;
    let (all, controller) = (bus.all().await, bus.seat("mesh-controller").await);
    let bound = Bucket::bound(&"postgres".parse().unwrap());
    for bucket in Bucket::fixed().into_iter().chain([bound]) {
        for key in ["attic.notes", "mesh-controller", "mesh-vault", "mesh-provisioner"] {
            Kv::new(&all, bucket.clone()).put(key, "{}").await.unwrap();
            let others = [Bucket::registry(), Bucket::credentials()].contains(&bucket);
            let another = bucket == Bucket::seats() && key != "mesh-controller" && key != "attic.notes";
            let deleted = Kv::new(&controller, bucket.clone()).delete(key).await;
            match others || another {
                true => {
                    assert!(matches!(deleted, Err(KvError::Denied { .. })), "{key} of {bucket}: {deleted:?}")
                }
                false => drop(deleted.unwrap()),
            }
        }
    }
    for call in [
        "STREAM.PURGE.KV_mesh-provisioner_registry",
        "STREAM.PURGE.KV_mesh-vault_credentials",
        "STREAM.PURGE.KV_mesh-seats",
        "STREAM.DELETE.KV_mesh-provisioner_applied",
        "STREAM.DELETE.KV_postgres_bound",
        "STREAM.MSG.DELETE.KV_mesh-provisioner_applied",
    ] {
        let refused = controller.ask(&format!("$JS.API.{call}"), HeaderMap::new(), "{}").await;
        assert!(matches!(refused, Err(RequestError::Denied { .. })), "{call}: {refused:?}");
    }
    // It answers no other seat's verbs, and hears nothing of them.
    let mut heard = controller.nats().subscribe("mesh-vault.>").await.unwrap();
    let mut own = controller.nats().subscribe("mesh-controller.>").await.unwrap();
    // What was sent to the server before this is done when it answers.
    Kv::new(&controller, Bucket::plan()).get("nothing").await.unwrap();
    all.nats().publish("mesh-vault.secret.attic", "".into()).await.unwrap();
    all.nats().publish("mesh-controller.facts.attic", "".into()).await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), own.next()).await.unwrap().unwrap();
    assert!(heard.next().now_or_never().flatten().is_none());
}

fn terms(node: &str) -> Terms {
    Terms {
        seat: "mesh-vault".parse().unwrap(),
        node: node.parse().unwrap(),
        lease: LEASE,
        clock: OffsetDateTime::now_utc,
    }
}

const LEASE: Duration = Duration::from_millis(1200);

/// A process that wants the seat, and does nothing with it but hold it.
struct Holder {
    tenure: watch::Receiver<Option<Tenure>>,
    shutdown: CancellationToken,
    task: JoinSet<()>,
}

impl Holder {
    fn of(bus: client::Bus, node: &str) -> Self {
        let (tell, tenure) = watch::channel(None);
        let (shutdown, mut task) = (CancellationToken::new(), JoinSet::new());
        let (terms, told) = (terms(node), shutdown.clone());
        task.spawn(async move {
            let work = |tenure: Tenure| {
                tell.send_replace(Some(tenure.clone()));
                async move {
                    tenure.over().cancelled().await;
                    Ok::<_, std::convert::Infallible>(())
                }
            };
            seat::hold(&bus, terms, &[Bucket::credentials()], &told, work).await.unwrap();
        });
        Self { tenure, shutdown, task }
    }

    async fn start(bus: &Bus, node: &str) -> Self {
        Self::of(bus.seat("mesh-vault").await, node)
    }

    /// Waits until it holds the seat.
    async fn tenure(&mut self) -> Tenure {
        let held = self.tenure.wait_for(Option::is_some);
        tokio::time::timeout(Duration::from_secs(20), held).await.unwrap().unwrap().clone().unwrap()
    }

    /// As a kill -9 would end it: nothing is given up.
    async fn kill(mut self) {
        self.task.shutdown().await;
    }

    async fn stop(mut self) {
        self.shutdown.cancel();
        while let Some(ended) = self.task.join_next().await {
            ended.unwrap();
        }
    }
}

async fn holder(bus: &Bus) -> String {
    let reader = bus.node("reader", &NodeReach::default()).await;
    let lease = Kv::new(&reader, Bucket::seats()).get("mesh-vault").await.unwrap().unwrap();
    let lease: serde_json::Value = serde_json::from_slice(&lease.value).unwrap();
    lease["node"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_seat_is_held_once_and_handed_on_when_it_is_given_up() {
    let bus = Bus::start().await;
    let mut first = Holder::start(&bus, "attic").await;
    assert!(first.tenure().await.is_held());
    assert_eq!(holder(&bus).await, "attic");
    let mut second = Holder::start(&bus, "cellar").await;
    let early = tokio::time::timeout(LEASE * 2, second.tenure.wait_for(Option::is_some)).await.is_ok();
    assert!(!early, "it is renewed, so nobody else takes it");
    let begun = Instant::now();
    first.stop().await;
    assert!(second.tenure().await.is_held());
    assert!(begun.elapsed() < LEASE / 2, "{:?}: it was given up, so nobody has to wait", begun.elapsed());
    assert_eq!(holder(&bus).await, "cellar");
    second.stop().await;
}

#[tokio::test]
async fn a_seat_whose_holder_is_killed_is_held_again_within_the_lease() {
    let bus = Bus::start().await;
    let mut times = Vec::new();
    for round in 0..6 {
        let (node, other) = if round % 2 == 0 { ("attic", "cellar") } else { ("cellar", "attic") };
        let mut first = Holder::start(&bus, node).await;
        first.tenure().await;
        let mut second = Holder::start(&bus, other).await;
        // Killed at another moment between two renewals each time.
        tokio::time::sleep(LEASE / 6 * round / 6).await;
        let begun = Instant::now();
        first.kill().await;
        second.tenure().await;
        times.push(begun.elapsed());
        second.stop().await;
    }
    println!("taken over at a lease of {LEASE:?} in {times:?}");
    assert!(times.iter().all(|time| *time < LEASE), "{times:?}");
}

#[tokio::test]
async fn a_former_process_of_the_same_node_is_not_waited_for() {
    let bus = Bus::start().await;
    let mut first = Holder::start(&bus, "attic").await;
    first.tenure().await;
    first.kill().await;
    let begun = Instant::now();
    let mut again = Holder::start(&bus, "attic").await;
    again.tenure().await;
    assert!(begun.elapsed() < LEASE / 2, "{:?}", begun.elapsed());
    again.stop().await;
}

#[tokio::test]
async fn a_seat_outlives_a_kill_of_the_server() {
    let bus = Bus::start().await;
    let mut holder = Holder::start(&bus, "attic").await;
    let tenure = holder.tenure().await;
    let mut standby = Holder::start(&bus, "cellar").await;
    bus.kill_server().await;
    let begun = Instant::now();
    while !tenure.is_held() || begun.elapsed() < LEASE * 2 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is renewed once the bus is back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(
        standby.tenure.borrow_and_update().is_none(),
        "a bus that was away is no holder that fell silent"
    );
    tenure.kv(Bucket::credentials()).put("attic.notes.db", "{}").await.unwrap();
    standby.stop().await;
    holder.stop().await;
}

/// Everything that a holder can write, tried by one who holds the seat no more.
async fn tries(tenure: &Tenure, revision: u64) -> Vec<Result<(), KvError>> {
    let kv = tenure.kv(Bucket::credentials());
    vec![
        kv.put("attic.notes.old", "{}").await.map(drop),
        kv.put("attic.notes.db", "old").await.map(drop),
        kv.create("attic.notes.older", "{}").await.map(drop),
        kv.update("attic.notes.db", "old", revision).await.map(drop),
        kv.delete("attic.notes.db").await.map(drop),
        kv.delete_at("attic.notes.db", revision).await.map(drop),
    ]
}

#[tokio::test]
async fn whoever_held_the_seat_before_writes_nothing_any_more() {
    let bus = Bus::start().await;
    // Its fence stays with us, as it would with a process that was paused between its last look and its write.
    let mut first = Holder::start(&bus, "attic").await;
    let former = first.tenure().await;
    let revision = former.kv(Bucket::credentials()).put("attic.notes.db", "first").await.unwrap();
    first.kill().await;
    let mut second = Holder::start(&bus, "cellar").await;
    let tenure = second.tenure().await;
    // The key is still as the former holder knows it: not even then.
    for refused in tries(&former, revision).await {
        assert!(matches!(refused, Err(KvError::Fenced { .. })), "{refused:?}");
    }
    assert!(!former.is_held());
    let kv = tenure.kv(Bucket::credentials());
    assert_eq!(kv.latest("attic.notes.db").await.unwrap().unwrap().value, "first");
    assert_eq!(
        bucket::keys(&bus.seat("mesh-controller").await, &Bucket::credentials()).await.unwrap().len(),
        1
    );
    let revision = kv.update("attic.notes.db", "second", revision).await.unwrap();
    assert!(matches!(kv.update("attic.notes.db", "x", revision - 1).await, Err(KvError::Conflict { .. })));
    kv.delete_at("attic.notes.db", revision).await.unwrap();
    assert!(tenure.is_held());
    second.stop().await;
}

#[tokio::test]
async fn writes_that_are_on_their_way_when_the_seat_changes_hands_land_before_it_or_not_at_all() {
    let bus = Bus::start().await;
    let mut first = Holder::start(&bus, "attic").await;
    let former = first.tenure().await;
    let mut writing = JoinSet::new();
    for writer in 0..24 {
        let kv = former.kv(Bucket::credentials());
        writing.spawn(async move {
            let mut last = 0;
            for i in 0.. {
                match kv.put(format!("attic.w{writer}.k"), format!("{i}")).await {
                    Ok(revision) => last = revision,
                    Err(KvError::Fenced { .. }) => return last,
                    Err(error) => panic!("{error:?}"),
                }
            }
            unreachable!("it writes until it is refused")
        });
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    first.kill().await;
    let mut second = Holder::start(&bus, "cellar").await;
    let tenure = second.tenure().await;
    let begun = tenure.kv(Bucket::credentials()).put("cellar.notes.db", "mine").await.unwrap();
    while let Some(last) = writing.join_next().await {
        let last = last.unwrap();
        assert!(last > 0 && last < begun, "a write of the former holder at {last}, of the next at {begun}");
    }
    second.stop().await;
}

#[tokio::test]
async fn what_a_fenced_write_costs_beside_an_unfenced_one() {
    let bus = Bus::start().await;
    let mut holder = Holder::start(&bus, "attic").await;
    let tenure = holder.tenure().await;
    let plain = Kv::new(tenure.bus(), Bucket::credentials());
    let fenced = tenure.kv(Bucket::credentials());
    let mut took = [Duration::ZERO; 4];
    let value = vec![b'x'; 256];
    for round in 0..10 {
        for i in 0..20 {
            let key = format!("attic.m{round}.k{i}");
            for (kv, took) in [&plain, &fenced].into_iter().zip(&mut took) {
                let begun = Instant::now();
                kv.put(&key, value.clone()).await.unwrap();
                *took += begun.elapsed();
            }
        }
        for (kv, took) in [&plain, &fenced].into_iter().zip(&mut took[2..]) {
            let begun = Instant::now();
            let puts = (0..64).map(|i| kv.put(format!("attic.b{round}.k{i}"), value.clone()));
            futures_util::future::try_join_all(puts).await.unwrap();
            *took += begun.elapsed();
        }
    }
    let [one, one_fenced, many, many_fenced] = took;
    println!("one after another: {:?} plain, {:?} fenced", one / 200, one_fenced / 200);
    println!("64 at once: {:?} plain, {:?} fenced", many / 640, many_fenced / 640);
    assert!(one_fenced < one * 3, "{one_fenced:?} against {one:?}");
    holder.stop().await;
}

//! Seats: what their users may do, and their leases.

use std::time::{Duration, Instant};

use mesh_bus::account::Usage;
use mesh_bus::grants::NodeReach;
use mesh_bus::kv::KvError;
use mesh_bus::seat::{Lease, Terms};
use mesh_bus::testing::Bus;
use mesh_bus::{Bucket, Kv, Mirror};
use time::OffsetDateTime;

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

fn terms(node: &str) -> Terms {
    Terms {
        seat: "mesh-vault".parse().unwrap(),
        node: node.parse().unwrap(),
        lease: Duration::from_millis(900),
        clock: OffsetDateTime::now_utc,
    }
}

async fn holder(bus: &Bus) -> String {
    let reader = bus.node("reader", &NodeReach::default()).await;
    let lease = Kv::new(&reader, Bucket::seats()).get("mesh-vault").await.unwrap().unwrap();
    let lease: serde_json::Value = serde_json::from_slice(&lease.value).unwrap();
    lease["node"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_seat_is_held_once_and_handed_on_when_it_is_released() {
    let bus = Bus::start().await;
    let first = Lease::take(&bus.seat("mesh-vault").await, terms("attic")).await;
    assert_eq!(holder(&bus).await, "attic");
    let second_bus = bus.seat("mesh-vault").await;
    let second = Lease::take(&second_bus, terms("cellar"));
    tokio::pin!(second);
    let early = tokio::time::timeout(Duration::from_millis(2000), &mut second).await;
    assert!(early.is_err(), "it is renewed, so nobody else takes it");
    first.release().await;
    let second = tokio::time::timeout(Duration::from_secs(2), second).await.unwrap();
    assert_eq!(holder(&bus).await, "cellar");
    assert!(*second.held().borrow());
}

#[tokio::test]
async fn a_seat_whose_holder_fell_silent_is_taken_and_one_of_our_own_at_once() {
    let bus = Bus::start().await;
    let connection = bus.seat("mesh-vault").await;
    drop(Lease::take(&connection, terms("attic")).await);
    let begun = Instant::now();
    drop(Lease::take(&connection, terms("attic")).await);
    assert!(begun.elapsed() < Duration::from_millis(500));
    let begun = Instant::now();
    let lease = Lease::take(&connection, terms("cellar")).await;
    assert!(begun.elapsed() >= Duration::from_millis(900));
    assert_eq!(holder(&bus).await, "cellar");
    lease.release().await;
}

#[tokio::test]
async fn a_lease_outlives_a_kill_of_the_server() {
    let bus = Bus::start().await;
    let lease = Lease::take(&bus.seat("mesh-vault").await, terms("attic")).await;
    bus.kill_server().await;
    let mut held = lease.held();
    tokio::time::sleep(Duration::from_millis(1200)).await;
    tokio::time::timeout(Duration::from_secs(5), held.wait_for(|held| *held)).await.unwrap().unwrap();
    assert_eq!(holder(&bus).await, "attic");
}

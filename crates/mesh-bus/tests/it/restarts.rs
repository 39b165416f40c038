//! The server dies, and everybody goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mesh_bus::account::Usage;
use mesh_bus::grants::NodeReach;
use mesh_bus::server::{Listen, ServerConfig};
use mesh_bus::testing::{Bus, nats_server};
use mesh_bus::{Authority, Bucket, FirstTry, Kv, Mirror, Server, bucket, client};

use crate::buckets::until;

/// Writes until it is told to stop; returns the last number that was acknowledged.
async fn write(kv: Kv, key: String, stop: Arc<AtomicBool>) -> Option<u64> {
    let mut acknowledged = None;
    let mut next = 0;
    while !stop.load(Ordering::Relaxed) {
        if kv.put(&key, next.to_string()).await.is_ok() {
            acknowledged = Some(next);
        }
        next += 1;
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_under_writers_loses_no_acknowledged_write() {
    let bus = Bus::start().await;
    let node = bus.node("attic", &NodeReach::default()).await;
    let kv = Kv::new(&node, Bucket::applied());
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = tokio::task::JoinSet::new();
    for i in 0..16 {
        let (kv, key, stop) = (kv.clone(), format!("attic.m{i}"), Arc::clone(&stop));
        writers.spawn(async move { (key.clone(), write(kv, key, stop).await) });
    }
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        bus.kill_server().await;
    }
    stop.store(true, Ordering::Relaxed);
    let acknowledged = writers.join_all().await;
    let all = bus.all().await;
    for (key, last) in acknowledged {
        let last = last.expect("something was acknowledged");
        let held = Kv::new(&all, Bucket::applied()).get(&key).await.unwrap().unwrap();
        let held: u64 = std::str::from_utf8(&held.value).unwrap().parse().unwrap();
        assert!(held >= last, "{key} holds {held}, and {last} was acknowledged");
    }
}

#[tokio::test]
async fn a_mirror_goes_on_and_misses_nothing() {
    let bus = Bus::start().await;
    let node = bus.node("attic", &NodeReach::default()).await;
    let all = bus.all().await;
    let kv = Kv::new(&all, Bucket::assignments());
    kv.put("attic.stays", "1").await.unwrap();
    kv.put("attic.goes", "1").await.unwrap();
    let mut mirror = Mirror::open(&node, Bucket::assignments(), "attic.>", Usage::read());
    mirror.ready().await;
    for i in 0..3 {
        // Idle while the server dies: the next change arrives all the same.
        bus.kill_server().await;
        let begun = std::time::Instant::now();
        while kv.put("attic.stays", format!("after {i}")).await.is_err() {}
        until(&mut mirror, |held| held["attic.stays"].value == format!("after {i}")).await;
        println!("a change after the restart was seen in {:?}", begun.elapsed());
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    kv.delete("attic.goes").await.unwrap();
    bus.kill_server().await;
    until(&mut mirror, |held| held.len() == 1).await;
}

#[tokio::test]
async fn a_snapshot_is_not_changed_in_the_hands_of_who_holds_it() {
    let bus = Bus::start().await;
    let node = bus.node("attic", &NodeReach::default()).await;
    let kv = Kv::new(&node, Bucket::applied());
    let mut mirror = Mirror::open(&node, Bucket::applied(), "attic.>", Usage::read());
    mirror.ready().await;
    kv.put("attic.notes", "1").await.unwrap();
    until(&mut mirror, |held| held.len() == 1).await;
    let before = mirror.snapshot();
    kv.put("attic.notes", "2").await.unwrap();
    until(&mut mirror, |held| held["attic.notes"].value == "2").await;
    assert_eq!(before["attic.notes"].value, "1");
}

#[tokio::test]
async fn a_service_may_be_there_before_the_bus() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::open(&folder.path().join("keys"), time::OffsetDateTime::now_utc).unwrap();
    let creds = authority.creds_for_all();
    // Below those that the system hands out by itself: nobody takes it in between.
    let mut ports = (20_000..30_000)
        .map(|port| 20_000 + (port + u16::try_from(std::process::id() % 10_000).unwrap()) % 10_000);
    let port = ports.find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap();
    let url = format!("nats://127.0.0.1:{port}");
    let config = ServerConfig {
        program: nats_server(),
        folder: folder.path().join("bus"),
        listen: Listen::Loopback { port: Some(port) },
        launcher: Vec::new(),
    };
    assert!(client::Bus::connect(&url, &creds, FirstTry::Fails).await.is_err());
    let early = client::Bus::connect(&url, &creds, FirstTry::IsRepeated).await.unwrap();
    let mut mirror = Mirror::open(&early, Bucket::registry(), ">", Usage::read());
    assert!(!early.is_connected());
    let server = Server::start(config, &authority).await.unwrap();
    let other = client::Bus::connect(&url, &creds, FirstTry::Fails).await.unwrap();
    bucket::ensure(&other, &[Bucket::registry()]).await.unwrap();
    Kv::new(&other, Bucket::registry()).put("secret", "{}").await.unwrap();
    until(&mut mirror, |held| held.len() == 1).await;
    server.stop().await;
}

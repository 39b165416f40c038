//! What a node may do with the buckets works.

use std::time::{Duration, Instant};

use mesh_bus::account::Usage;
use mesh_bus::grants::NodeReach;
use mesh_bus::testing::Bus;
use mesh_bus::{Bucket, Kv, Mirror};

#[tokio::test]
async fn a_change_of_another_account_is_seen_within_milliseconds() {
    let bus = Bus::start().await;
    let node = bus.node("attic", &NodeReach::default()).await;
    let controller = bus.seat("mesh-controller").await;
    let mut mirror = Mirror::open(&node, Bucket::assignments(), "attic.>", Usage::read());
    mirror.ready().await;
    let kv = Kv::new(&controller, Bucket::assignments());
    let mut times = Vec::new();
    for i in 0..200 {
        let revision = kv.put("attic.notes", format!("{i}")).await.unwrap();
        let sent = Instant::now();
        while mirror.snapshot().get("attic.notes").is_none_or(|e| e.revision < revision) {
            tokio::time::timeout(Duration::from_secs(2), mirror.changed()).await.unwrap();
        }
        times.push(sent.elapsed());
    }
    times.sort();
    println!("after the acknowledgement: median {:?}, p99 {:?}", times[100], times[198]);
    assert!(times[100] < Duration::from_millis(5));
}

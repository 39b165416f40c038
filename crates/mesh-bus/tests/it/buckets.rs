//! What an account may do with the buckets works.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use mesh_bus::account::Usage;
use mesh_bus::bucket::{self, MAX_VALUE};
use mesh_bus::client::RequestError;
use mesh_bus::grants::{Answered, NodeReach, Provides, consumers_filter};
use mesh_bus::kv::KvError;
use mesh_bus::testing::Bus;
use mesh_bus::verb::{self, AskError};
use mesh_bus::{Bucket, Kv, Mirror, client};
use mesh_model::digest::Digest;
use mesh_model::name::ProvisionName;

/// Waits until a mirror holds what it should.
pub(crate) async fn until(mirror: &mut Mirror, what: impl Fn(&mesh_bus::mirror::Entries) -> bool) {
    let wait = async {
        while !what(&mirror.snapshot()) {
            mirror.changed().await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(10), wait).await.is_err() {
        panic!("it did not come to hold that: {:?}", mirror.snapshot());
    }
}

fn consumer_of(provider: &str) -> NodeReach {
    NodeReach { providers: BTreeSet::from([provider.parse().unwrap()]), ..NodeReach::default() }
}

fn provider_of(module: &str, provision: &str, answers: Answered) -> NodeReach {
    let provisions = BTreeSet::from([provision.parse().unwrap()]);
    let provides = vec![Provides { module: module.parse().unwrap(), provisions, answers }];
    NodeReach { provides, ..NodeReach::default() }
}

#[tokio::test]
async fn a_change_of_another_account_is_seen_within_milliseconds() {
    let bus = Bus::start().await;
    let node = bus.node("attic", &NodeReach::default()).await;
    let all = bus.all().await;
    let mut mirror = Mirror::open(&node, Bucket::assignments(), "attic.>", Usage::read());
    mirror.ready().await;
    let kv = Kv::new(&all, Bucket::assignments());
    let mut times = Vec::new();
    for i in 0..200 {
        let begun = Instant::now();
        let put = kv.put("attic.notes", format!("{i}"));
        let seen =
            until(&mut mirror, |held| held.get("attic.notes").is_some_and(|e| e.value == format!("{i}")));
        let (put, ()) = tokio::join!(put, seen);
        put.unwrap();
        times.push(begun.elapsed());
    }
    times.sort();
    println!("put and seen: median {:?}, p99 {:?}", times[100], times[198]);
    assert!(times[100] < Duration::from_millis(20));
}

#[tokio::test]
async fn a_node_writes_reads_and_deletes_its_own_keys() {
    let bus = Bus::start().await;
    let node = bus.node("attic", &NodeReach::default()).await;
    for bucket in [Bucket::needs(), Bucket::applied(), Bucket::collect()] {
        let kv = Kv::new(&node, bucket.clone());
        let key = "attic.notes.motd=3Anormal";
        let conflict = KvError::Conflict { bucket: bucket.to_string(), key: key.to_owned() };
        assert_eq!(kv.get(key).await.unwrap(), None);
        let first = kv.create(key, "1").await.unwrap();
        assert_eq!(kv.create(key, "2").await.unwrap_err(), conflict);
        let second = kv.update(key, "2", first).await.unwrap();
        assert_eq!(kv.update(key, "3", first).await.unwrap_err(), conflict);
        let held = kv.get(key).await.unwrap().unwrap();
        assert_eq!((held.revision, &held.value[..]), (second, &b"2"[..]));
        assert_eq!(kv.delete_at(key, first).await.unwrap_err(), conflict);
        kv.delete_at(key, second).await.unwrap();
        assert_eq!(kv.get(key).await.unwrap(), None);
        kv.create(key, "again").await.unwrap();
        kv.delete(key).await.unwrap();
        let mut mirror = Mirror::open(&node, bucket, "attic.>", Usage::read());
        mirror.ready().await;
        assert!(mirror.snapshot().is_empty());
        kv.put(key, "4").await.unwrap();
        until(&mut mirror, |held| held.len() == 1).await;
        kv.delete(key).await.unwrap();
        until(&mut mirror, |held| held.is_empty()).await;
    }
}

#[tokio::test]
async fn values_may_be_as_long_as_the_contract_says_and_no_longer() {
    let bus = Bus::start().await;
    let node = bus.node("attic", &NodeReach::default()).await;
    let all = bus.all().await;
    let kv = Kv::new(&all, Bucket::assignments());
    // The limit counts the subject and the headers too.
    let long = vec![b'x'; MAX_VALUE - 1024];
    kv.put("attic.notes", long.clone()).await.unwrap();
    assert_eq!(Kv::new(&node, Bucket::assignments()).get("attic.notes").await.unwrap().unwrap().value, long);
    let mirror = Mirror::open(&node, Bucket::assignments(), "attic.>", Usage::read());
    mirror.ready().await;
    assert_eq!(mirror.snapshot()["attic.notes"].value, long);
    let too_long = kv.put("attic.notes", vec![b'x'; MAX_VALUE + 1]).await;
    assert!(matches!(too_long, Err(KvError::TooLarge { .. })), "{too_long:?}");
    let own = Kv::new(&node, Bucket::applied());
    own.put("attic.notes", vec![b'x'; MAX_VALUE - 1024]).await.unwrap();
    let too_long = own.put("attic.notes", vec![b'x'; MAX_VALUE + 1]).await;
    assert!(matches!(too_long, Err(KvError::TooLarge { .. })), "{too_long:?}");
    let too_long = verb::ask::<()>(&node, "mesh-vault.secret.attic", &"x".repeat(600 * 1024)).await;
    assert!(matches!(too_long, Err(AskError::Unreachable { source: RequestError::TooLarge { .. }, .. })));
    own.put("attic.notes", "it is still connected").await.unwrap();
    let odd = kv.put("attic.*", "x").await;
    assert!(matches!(odd, Err(KvError::Key { .. })), "{odd:?}");
}

#[tokio::test]
async fn a_whole_state_of_many_keys_is_read() {
    let bus = Bus::start().await;
    let node = bus.node("attic", &NodeReach::default()).await;
    let all = bus.all().await;
    let kv = Kv::new(&all, Bucket::assignments());
    let puts = futures_util::stream::iter(0..1234).map(|i| kv.put(format!("attic.m{i}"), format!("{i}")));
    let puts: Vec<_> = puts.buffer_unordered(32).collect().await;
    assert!(puts.iter().all(Result::is_ok));
    kv.put("cellar.other", "not for attic").await.unwrap();
    let mirror = Mirror::open(&node, Bucket::assignments(), "attic.>", Usage::read());
    mirror.ready().await;
    assert_eq!(mirror.snapshot().len(), 1234);
}

async fn carries(provider: &client::Bus, consumer: &client::Bus) {
    let bucket = Bucket::bound(&"postgres".parse().unwrap());
    Kv::new(provider, bucket.clone()).put("cellar.notes.postgres-database.db", "values").await.unwrap();
    let mirror = Mirror::open(consumer, bucket.clone(), "cellar.>", Usage::read());
    mirror.ready().await;
    assert_eq!(mirror.snapshot()["cellar.notes.postgres-database.db"].value, "values");
    let got = Kv::new(consumer, bucket).get("cellar.notes.postgres-database.db").await.unwrap();
    assert_eq!(got.unwrap().value, "values");
}

#[tokio::test]
async fn a_provider_sees_its_consumers_and_they_see_its_answers() {
    let bus = Bus::start().await;
    let provider =
        bus.node("attic", &provider_of("postgres", "postgres-database", Answered::Everybody)).await;
    let consumer = bus.node("cellar", &consumer_of("postgres")).await;
    let key = "cellar.contribution=3Apostgres-database.notes";
    Kv::new(&consumer, Bucket::collect()).put(key, "a contribution").await.unwrap();
    Kv::new(&consumer, Bucket::collect()).put("cellar.motd.notes", "not for attic").await.unwrap();
    let provision: ProvisionName = "postgres-database".parse().unwrap();
    let usage = Usage::consumers(&provision);
    let mirror = Mirror::open(&provider, Bucket::collect(), &consumers_filter(&provision), usage);
    mirror.ready().await;
    assert_eq!(mirror.snapshot().keys().collect::<Vec<_>>(), [key]);
    carries(&provider, &consumer).await;
}

#[tokio::test]
async fn a_provider_on_several_nodes_answers_its_own_consumers_alone() {
    let bus = Bus::start().await;
    let own = "cellar.notes.postgres-database.db".parse().unwrap();
    let reach = provider_of("postgres", "postgres-database", Answered::Only(BTreeSet::from([own])));
    let provider = bus.node("attic", &reach).await;
    let consumer = bus.node("cellar", &consumer_of("postgres")).await;
    carries(&provider, &consumer).await;
    let bound = Kv::new(&provider, Bucket::bound(&"postgres".parse().unwrap()));
    let other = bound.put("cellar.wiki.postgres-database.db", "evil").await;
    assert!(matches!(other, Err(KvError::Denied { .. })), "{other:?}");
}

#[tokio::test]
async fn a_node_gets_the_files_of_its_assignments() {
    let bus = Bus::start().await;
    let all = bus.all().await;
    let digest = Digest::of(b"content");
    let reach = NodeReach { files: BTreeSet::from([digest.clone()]), ..NodeReach::default() };
    let node = bus.node("attic", &reach).await;
    for part in 0..2 {
        Kv::new(&all, Bucket::files()).put(format!("{digest}.{part}"), "content").await.unwrap();
        let got = Kv::new(&node, Bucket::files()).get(format!("{digest}.{part}")).await.unwrap();
        assert_eq!(got.unwrap().value, "content");
    }
    assert!(Kv::new(&node, Bucket::files()).get(format!("{digest}.2")).await.unwrap().is_none());
}

#[tokio::test]
async fn buckets_are_made_once_and_set_right() {
    let bus = Bus::start().await;
    let all = bus.all().await;
    Kv::new(&all, Bucket::registry()).put("secret", "kept").await.unwrap();
    // Somebody has changed a setting: rollups are what must never be allowed.
    let broken = serde_json::json!({"name": "KV_mesh-provisioner_registry", "subjects": ["$KV.mesh-provisioner_registry.>"],
        "storage": "file", "max_msgs_per_subject": 1, "allow_rollup_hdrs": true, "allow_direct": true, "deny_delete": true,
        "discard": "new", "max_bytes": -1, "num_replicas": 1, "retention": "limits"});
    let update = "$JS.API.STREAM.UPDATE.KV_mesh-provisioner_registry";
    all.nats().request(update, broken.to_string().into()).await.unwrap();
    for _ in 0..2 {
        bucket::ensure(&all, &Bucket::fixed()).await.unwrap();
        let info =
            all.nats().request("$JS.API.STREAM.INFO.KV_mesh-provisioner_registry", "".into()).await.unwrap();
        let info: serde_json::Value = serde_json::from_slice(&info.payload).unwrap();
        let config = &info["config"];
        assert_eq!(config["allow_rollup_hdrs"], false);
        assert_eq!(config["max_bytes"], 1024 * 1024);
        assert_eq!(config["max_msg_size"], 512 * 1024);
        assert_eq!(config["max_msgs_per_subject"], 1);
    }
    assert_eq!(Kv::new(&all, Bucket::registry()).get("secret").await.unwrap().unwrap().value, "kept");
}

#[tokio::test]
async fn an_operator_reads_all_buckets_but_files_and_writes_none() {
    let bus = Bus::start().await;
    let operator = bus.operator().await;
    let all = bus.all().await;
    for bucket in Bucket::fixed() {
        Kv::new(&all, bucket.clone()).put("attic.notes", "value").await.unwrap();
        let kv = Kv::new(&operator, bucket.clone());
        let read = kv.get("attic.notes").await;
        if bucket == Bucket::files() {
            assert!(matches!(read, Err(KvError::Denied { .. })), "{read:?}");
        } else {
            assert_eq!(read.unwrap().unwrap().value, "value");
            assert_eq!(kv.whole().await.unwrap().into_keys().collect::<Vec<_>>(), ["attic.notes"]);
        }
        let write = kv.put("attic.notes", "evil").await;
        assert!(matches!(write, Err(KvError::Denied { .. })), "{write:?}");
    }
}

#[tokio::test]
async fn two_that_read_a_whole_bucket_under_one_name_do_not_disturb_each_other() {
    let bus = Bus::start().await;
    let all = bus.all().await;
    let kv = Kv::new(&all, Bucket::applied());
    assert_eq!(kv.whole().await.unwrap().len(), 0);
    let all = 1_234;
    let puts = (0..all).map(|i| kv.put(format!("attic.m{i}"), format!("{i}")));
    futures_util::future::try_join_all(puts).await.unwrap();
    for i in 0..34 {
        kv.delete(format!("attic.m{i}")).await.unwrap();
    }
    let operator = bus.operator().await;
    let read = |bus: client::Bus| async move { Kv::new(&bus, Bucket::applied()).whole().await.unwrap() };
    let again = futures_util::future::join_all((0..8).map(|_| bus.operator())).await;
    let reads = futures_util::future::join_all(again.into_iter().chain([operator]).map(read)).await;
    for held in reads {
        assert_eq!(held.len(), all - 34);
        assert_eq!(held["attic.m1233"].value, "1233");
        assert!(!held.contains_key("attic.m33"), "a key that was deleted is not there");
    }
}

#[tokio::test]
async fn what_may_not_be_read_whole_is_told_at_once() {
    let bus = Bus::start().await;
    let (node, operator) = (bus.node("attic", &NodeReach::default()).await, bus.operator().await);
    for (who, bucket, account) in
        [(&node, Bucket::applied(), "attic"), (&operator, Bucket::files(), "operator=local")]
    {
        let begun = Instant::now();
        let refused = Kv::new(who, bucket.clone()).whole().await.unwrap_err();
        let denied = KvError::Denied {
            doing: "read",
            bucket: bucket.to_string(),
            key: ">".to_owned(),
            account: account.to_owned(),
        };
        assert_eq!(refused, denied);
        assert!(begun.elapsed() < Duration::from_millis(500), "it is told at once");
    }
}

/// What somebody who fills a bucket does to others.
#[tokio::test]
async fn a_full_bucket_refuses_new_keys_at_once_and_takes_what_is_there_again() {
    let bus = Bus::start().await;
    let kv = Kv::new(&bus.all().await, Bucket::registry());
    kv.put("mine", "{}").await.unwrap();
    let mut floods = 0;
    for size in [100 * 1024, 1024, 1] {
        let full = loop {
            match kv.put(format!("flood{floods}"), "x".repeat(size)).await {
                Ok(_) => floods += 1,
                Err(full) => break full,
            }
        };
        assert!(matches!(&full, KvError::Refused { why, .. } if why.contains("maximum bytes")), "{full:?}");
    }
    let refused = kv.put("new", "{}").await;
    assert!(matches!(refused, Err(KvError::Refused { .. })), "{refused:?}");
    // What is there may be written again at its length, and deleted; then there is room.
    kv.put("mine", "[]").await.unwrap();
    kv.delete("flood0").await.unwrap();
    kv.put("new", "{}").await.unwrap();
}

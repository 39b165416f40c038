//! Tests of the buckets' settings.

use super::*;

#[test]
fn every_bucket_is_bounded_and_never_rolls_up() {
    let bound = Bucket::bound(&"postgres".parse().expect("a name"));
    for bucket in Bucket::fixed().into_iter().chain([bound]) {
        let settings = bucket.settings();
        assert_eq!(settings["max_msgs_per_subject"], 1);
        assert_eq!(settings["max_msg_size"], 512 * 1024);
        assert_eq!(settings["allow_rollup_hdrs"], false);
        assert!(settings["max_bytes"].as_i64().is_some_and(|bytes| bytes > 0));
    }
}

#[test]
fn a_bucket_is_found_by_its_name() {
    for bucket in Bucket::fixed() {
        assert_eq!(Bucket::named(bucket.name()), Some(bucket));
    }
    let bound = Bucket::named("reverse-proxy_bound").expect("a provider's");
    assert_eq!(bound, Bucket::bound(&"reverse-proxy".parse().expect("a name")));
    for name in ["", "_bound", "Evil_bound", "a.b_bound", "something"] {
        assert_eq!(Bucket::named(name), None, "{name}");
    }
}

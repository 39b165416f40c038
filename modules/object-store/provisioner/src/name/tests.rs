//! Names: which a bucket may have, and that no two things of ours share one.

use super::*;

fn consumer(node: &str, module: &str, local: &str) -> ConsumerId {
    ConsumerId { node: node.parse().unwrap(), module: module.parse().unwrap(), local: local.parse().unwrap() }
}

#[test]
fn a_bucket_is_called_as_s3_allows() {
    for good in ["abc", "a-b", "0".repeat(63).as_str(), "notes-2"] {
        assert_eq!(BucketName::contributed(good).unwrap().to_string(), good);
    }
    for bad in ["", "ab", "-ab", "ab-", "Notes", "a.b", "a_b", "a/b", "ab\u{e9}", "0".repeat(64).as_str()] {
        assert!(BucketName::contributed(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_mark_says_whose_a_bucket_is() {
    let bucket = BucketName::contributed("notes").unwrap();
    let mark = UserName::mark(&bucket, &"wiki".parse().unwrap());
    assert_eq!(mark.marks(), Some((bucket, "wiki".parse().unwrap())));
    assert_eq!(UserName::of(&consumer("attic", "notes", "files")).marks(), None);
    assert_eq!(UserName::ours("somebody"), None);
}

#[test]
fn a_key_is_of_one_credential_of_one_consumer() {
    let key = |node, module, id| AccessKey::of(&consumer(node, module, "files"), id);
    assert_eq!(key("attic", "notes", "c1"), key("attic", "notes", "c1"));
    let all = [
        key("attic", "notes", "c1"),
        key("attic", "notes", "c2"),
        key("cellar", "notes", "c1"),
        key("atticn", "otes", "c1"),
    ];
    let different: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len());
    assert_eq!(all[0].as_str().len(), 20);
}

//! A digest is the same for the same under one key, and says nothing under another.

use super::*;
use crate::SystemRandom;

fn key() -> DigestKey {
    DigestKey::generate(&mut SystemRandom).unwrap()
}

#[test]
fn the_same_under_one_key_and_another_under_another() {
    let (one, other) = (key(), key());
    assert_eq!(one.digest(b"x"), one.digest(b"x"));
    assert_ne!(one.digest(b"x"), one.digest(b"y"));
    assert_ne!(one.digest(b"x"), other.digest(b"x"));
    assert!(one.are_same(&Secret::new(b"x".to_vec()), &Secret::new(b"x".to_vec())));
    assert!(!one.are_same(&Secret::new(b"x".to_vec()), &Secret::new(b"xx".to_vec())));
}

#[test]
fn parts_keep_their_borders() {
    let key = key();
    assert_ne!(key.digest_all([&b"ab"[..], b"c"]), key.digest_all([&b"a"[..], b"bc"]));
    assert_ne!(key.digest_all([&b""[..]]), key.digest_all([]));
}

#[test]
fn kept_as_text() {
    let ours = key();
    let again = DigestKey::from_text(&ours.to_text()).unwrap();
    assert_eq!(again.digest(b"x"), ours.digest(b"x"));
    let json = serde_json::to_string(&ours.digest(b"x")).unwrap();
    assert_eq!(serde_json::from_str::<KeyedDigest>(&json).unwrap(), ours.digest(b"x"));
    assert!(serde_json::from_str::<KeyedDigest>(&json.to_uppercase()).is_err());
    assert_eq!(format!("{ours:?}"), "DigestKey(..)");
}

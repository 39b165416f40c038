//! Tests of what may be a key.

use super::*;

#[test]
fn keys() {
    for key in ["a", "attic.notes", "attic.shell=3Azsh=3Anormal.notes", "a/b", &"x".repeat(512)] {
        assert!(is_key(key), "{key}");
    }
    for key in ["", ".", "a.", ".a", "a..b", "a.*", "a.>", "a b", "é", "a:b", &"x".repeat(513)] {
        assert!(!is_key(key), "{key}");
    }
}

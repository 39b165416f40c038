//! Tests of what a message of a round says.

use super::*;

#[test]
fn the_revision_is_in_the_reply() {
    assert_eq!(revision("$JS.ACK.KV_b.attic-read.1.42.7.1700000000.0"), Some(42));
    assert_eq!(revision("$JS.ACK.domain.account.KV_b.attic-read.1.42.7.1700000000.0.x"), Some(42));
    for odd in ["", "_INBOX.a.b", "$JS.ACK.KV_b", "$JS.ACK.KV_b.c.1.x.7.17.0"] {
        assert_eq!(revision(odd), None, "{odd}");
    }
}

//! What assignments call for, whatever their order.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::fixture::{assignment, database, key, need, node};

#[test]
fn what_the_quickstart_calls_for() {
    let gives = json!({
        "host": {"as": "value"},
        "password": {"as": "secret", "length": 24, "alphabet": "hex"},
        "url": {"as": "from", "template": "${gives.host}", "secret": true},
    });
    let secrets = json!({
        "admin": {"length": 40, "alphabet": "base64url"},
        "smtp": {"length": 32, "alphabet": "alphanumeric", "supplied": true},
    });
    let route = need("web", "proxy", "attic", json!({"name": {"as": "value"}}));
    let parts = json!({"secrets": secrets, "needs": [need("db", "postgres", "attic", gives), route]});
    let wanted = wanted([&assignment("cellar", "notes", parts)]);

    let admin = What::Own(Spec { length: 40, alphabet: Alphabet::Base64url });
    let expected = [
        ("cellar.notes.db", database("postgres", "attic", &["password"])),
        ("cellar.notes.secret=2Eadmin", admin),
        ("cellar.notes.secret=2Esmtp", What::Supplied),
    ];
    // No entry for `web`: nobody has anything to keep from anybody there.
    assert_eq!(wanted, expected.map(|(text, what)| (key(text), what)).into());
}

#[test]
fn who_reads_what() {
    let readers = |what: What| what.readers(&key("cellar.notes.db")).into_iter().cloned().collect::<Vec<_>>();
    assert_eq!(readers(What::Supplied), [node("cellar")]);
    assert_eq!(readers(database("postgres", "attic", &["password"])), [node("attic"), node("cellar")]);
    assert_eq!(readers(database("postgres", "cellar", &["password"])), [node("cellar")]);
}

proptest! {
    #[test]
    fn blind_to_order(order in Just((0..6).collect::<Vec<usize>>()).prop_shuffle()) {
        let secrets = json!({"secrets": {"admin": {"length": 40, "alphabet": "hex"}}});
        let all: Vec<_> = (0..6).map(|n| assignment(&format!("node-{n}"), "notes", secrets.clone())).collect();
        prop_assert_eq!(wanted(order.iter().map(|&n| &all[n])), wanted(&all));
    }
}

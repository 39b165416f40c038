//! A program that watches: through a store that goes away, and through its own end.

use std::time::Duration;

use crate::provisioner::consumer;
use crate::store::{Came, Store};

const KEY: &str = "secret-key-of-this-test-alone";

#[tokio::test]
async fn a_store_that_is_not_up_is_waited_for_and_one_that_was_killed_is_found_again() {
    let mut store = Store::prepared();
    let notes = consumer("notes", "cellar", "notes", &[("c1", KEY)]);
    store.deliver(std::slice::from_ref(&notes));
    let watching = store.watch();
    store.up().await;
    store.answers_for("notes@cellar").await;
    let key = store.key("notes@cellar");
    assert!(store.put((&key, KEY), "notes", "x", "kept").await.is_through());

    store.kill();
    store.up().await;
    store.deliver(&[notes, consumer("wiki", "cellar", "wiki", &[("c2", KEY)])]);
    store.answers_for("wiki@cellar").await;
    assert_eq!(store.get((&key, KEY), "notes", "x").await, Came::Through("kept".to_owned()));
    assert_eq!(watching.stop(), Some(0));
}

#[tokio::test]
async fn one_that_is_killed_anywhere_goes_on_where_it_was() {
    let store = Store::start().await;
    let one = |n: u32| consumer(&format!("m{n}"), "cellar", &format!("bucket-{n}"), &[("c1", KEY)]);
    let many: Vec<_> = (0..30).map(one).collect();
    store.deliver(&many);
    for round in 0..6 {
        let watching = store.watch();
        tokio::time::sleep(Duration::from_millis(40 * round)).await;
        watching.kill();
    }
    let ran = store.accepts(&many);
    assert_eq!(ran.answers.len(), 30);
    let key = store.key("m7@cellar");
    assert!(store.put((&key, KEY), "bucket-7", "x", "y").await.is_through());
}

//! A consumer's key opens its bucket and nothing else; once withdrawn, nothing.

use crate::provisioner::consumer;
use crate::store::{ADMIN, Came, Store};

const NOTES: &str = "secret-key-of-notes-in-this-test";
const WIKI: &str = "secret-key-of-wiki-in-this-test";

#[tokio::test]
async fn a_key_reads_and_writes_its_bucket_and_nothing_else() {
    let store = Store::start().await;
    store.accepts(&[
        consumer("notes", "cellar", "notes", &[("c1", NOTES)]),
        consumer("wiki", "cellar", "wiki-files", &[("c2", WIKI)]),
    ]);
    let answer = &store.answers()["notes@cellar"];
    assert_eq!(answer["values"]["endpoint"], "http://192.168.1.10:9000");
    assert_eq!((&answer["values"]["bucket"], &answer["credential"]), (&"notes".into(), &"c1".into()));
    let (notes, wiki) = (store.key("notes@cellar"), store.key("wiki@cellar"));
    let (notes, wiki) = ((notes.as_str(), NOTES), (wiki.as_str(), WIKI));

    assert!(store.put(notes, "notes", "a/b.txt", "hello").await.is_through());
    assert_eq!(store.get(notes, "notes", "a/b.txt").await, Came::Through("hello".to_owned()));
    assert!(store.list(notes, "notes").await.is_through());
    assert!(store.put(wiki, "wiki-files", "x", "y").await.is_through());

    for came in [
        store.get(wiki, "notes", "a/b.txt").await,
        store.put(wiki, "notes", "a/b.txt", "other").await,
        store.delete(wiki, "notes", "a/b.txt").await,
        store.list(wiki, "notes").await,
        store.make(wiki, "third").await,
        store.unmake(wiki, "notes").await,
        store.get((notes.0, WIKI), "notes", "a/b.txt").await,
    ] {
        assert!(!came.is_through(), "{came:?}");
    }
    assert_eq!(store.get(notes, "notes", "a/b.txt").await, Came::Through("hello".to_owned()));
    assert!(store.delete(notes, "notes", "a/b.txt").await.is_through());
}

#[tokio::test]
async fn a_rotation_has_both_keys_good_and_the_same_again_is_no_news() {
    let store = Store::start().await;
    let first = [consumer("notes", "cellar", "notes", &[("c1", NOTES)])];
    store.accepts(&first);
    let old = store.key("notes@cellar");
    let again = store.accepts(&first);
    assert_eq!(store.key("notes@cellar"), old);
    assert!(!again.said.contains("accepted"), "nothing is news: {}", again.said);

    store.accepts(&[consumer("notes", "cellar", "notes", &[("c1", NOTES), ("c2", WIKI)])]);
    let new = store.key("notes@cellar");
    assert_ne!(old, new);
    assert_eq!(store.answers()["notes@cellar"]["credential"], "c2");
    assert!(store.put((&old, NOTES), "notes", "x", "by the old").await.is_through());
    assert!(store.put((&new, WIKI), "notes", "x", "by the new").await.is_through());

    store.accepts(&[consumer("notes", "cellar", "notes", &[("c2", WIKI)])]);
    assert!(store.get((&old, NOTES), "notes", "x").await.is_refused("InvalidAccessKeyId"));
    assert!(store.get((&new, WIKI), "notes", "x").await.is_through());
}

#[tokio::test]
async fn who_is_withdrawn_may_not_come_in_and_its_bucket_stays() {
    let store = Store::start().await;
    store.accepts(&[consumer("notes", "cellar", "notes", &[("c1", NOTES)])]);
    let key = store.key("notes@cellar");
    assert!(store.put((&key, NOTES), "notes", "x", "kept").await.is_through());
    store.accepts(&[]);
    assert!(store.get((&key, NOTES), "notes", "x").await.is_refused("InvalidAccessKeyId"));
    assert_eq!(store.get(ADMIN, "notes", "x").await, Came::Through("kept".to_owned()));

    // The same module again finds what it left; the former key stays refused.
    store.accepts(&[consumer("notes", "attic", "notes", &[("c9", WIKI)])]);
    let new = store.key("notes@attic");
    assert_eq!(store.get((&new, WIKI), "notes", "x").await, Came::Through("kept".to_owned()));
    assert!(store.get((&key, NOTES), "notes", "x").await.is_refused("InvalidAccessKeyId"));
}

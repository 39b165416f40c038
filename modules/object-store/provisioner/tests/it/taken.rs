//! What is somebody else's stays so, and what cannot be served is said by consumer.

use crate::provisioner::consumer;
use crate::store::{ADMIN, Came, Store};

const KEY: &str = "secret-key-of-this-test-alone";

#[tokio::test]
async fn a_bucket_that_somebody_else_made_is_not_given_away() {
    let store = Store::start().await;
    assert!(store.make(ADMIN, "photos").await.is_through());
    assert!(store.put(ADMIN, "photos", "x", "by hand").await.is_through());
    store.deliver(&[
        consumer("album", "cellar", "photos", &[("c1", KEY)]),
        consumer("notes", "cellar", "notes", &[("c2", KEY)]),
    ]);
    let ran = store.pass();
    assert_eq!(ran.code, 1);
    let error = ran.answers["album@cellar"]["error"].as_str().unwrap();
    assert!(error.contains("`photos` is taken by a bucket that this provisioner did not make"), "{error}");
    assert_eq!(ran.answers["notes@cellar"]["credential"], "c2", "one that fails holds up no other");
    assert_eq!(store.get(ADMIN, "photos", "x").await, Came::Through("by hand".to_owned()));

    // What another module left is not given away either.
    store.deliver(&[consumer("wiki", "cellar", "notes", &[("c3", KEY)])]);
    let ran = store.pass();
    let error = ran.answers["wiki@cellar"]["error"].as_str().unwrap();
    assert!(error.contains("module `notes`'s"), "{error}");
}

#[tokio::test]
async fn what_cannot_be_served_is_said_by_consumer_and_no_secret_with_it() {
    let store = Store::start().await;
    store.deliver(&[
        consumer("one", "cellar", "No_Bucket", &[("c1", KEY)]),
        consumer("two", "cellar", "two-bucket", &[]),
        consumer("three", "cellar", "three-bucket", &[("c3", "")]),
        consumer("four", "cellar", "four-bucket", &[("c4", KEY)]),
    ]);
    let ran = store.pass();
    assert_eq!(ran.code, 1);
    let error = |who: &str| ran.answers[who]["error"].as_str().unwrap_or_default().to_owned();
    assert!(error("one@cellar").contains("is no name of a bucket"), "{}", error("one@cellar"));
    assert!(error("two@cellar").contains("no credential was delivered"), "{}", error("two@cellar"));
    assert!(error("three@cellar").contains("its secret key is empty"), "{}", error("three@cellar"));
    assert_eq!(ran.answers["four@cellar"]["credential"], "c4");
    for text in [&ran.said, &store.log()] {
        assert!(!text.contains(KEY) && !text.contains(ADMIN.1), "a secret was said");
    }
}

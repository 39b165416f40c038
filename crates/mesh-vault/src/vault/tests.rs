//! Several looks, and what changes between them.

use std::sync::Arc;

use mesh_seal::seal;

use super::*;
use crate::fixture::{Machines, key, node, quickstart};
use crate::store::MemoryStore;

const DB: &str = "cellar.notes.db";
const SMTP: &str = "cellar.notes.secret=2Esmtp";

fn vault() -> Vault {
    let signing = SigningKey::generate(&mut SystemRandom).unwrap();
    Vault::new("home".parse().unwrap(), signing, Arc::new(MemoryStore::default()))
}

fn join(vault: &Vault, machines: &Machines) {
    for (node, key) in machines.pins() {
        vault.pin(&node, &key).unwrap();
    }
}

fn supplied(recipient: &Recipient) -> Supplied {
    let (recipient, ciphertext) = (recipient.clone(), seal(recipient, b"x").unwrap());
    Supplied { id: None, recipient, ciphertext, escrow: BTreeMap::new() }
}

fn look(vault: &Vault, wanted: &Wanted) -> Look {
    vault.look(|_| wanted.clone(), &|_| None, Instant::now()).unwrap()
}

/// The ids that are told under a key.
fn versions(look: &Look, key: &str) -> Vec<String> {
    let versions = look.records[key]["versions"].as_array().unwrap();
    versions.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_look_tells_what_it_did_and_the_next_has_nothing_to_do() {
    let (vault, machines) = (vault(), Machines::new(&["attic", "cellar"]));
    let first = look(&vault, &quickstart());
    assert!(
        first.records.values().all(|record| record["versions"] == json!([]) && record["why"].is_string())
    );
    join(&vault, &machines);
    let second = look(&vault, &quickstart());
    assert_eq!(versions(&second, DB).len(), 1);
    assert!(second.records[DB].get("why").is_none());
    let third = look(&vault, &quickstart());
    assert_eq!(third.records, second.records);
    assert!(!third.steps.iter().any(Step::is_change));
}

#[test]
fn what_is_put_stays_until_another_is_put() {
    let (vault, machines) = (vault(), Machines::new(&["attic", "cellar"]));
    join(&vault, &machines);
    look(&vault, &quickstart());
    assert!(vault.seen().waits.contains_key(&key(SMTP)));
    let recipient = machines.of("cellar").public();
    let put = || vault.put(&key(SMTP), supplied(&recipient)).unwrap();
    let first = put();
    assert_eq!(versions(&look(&vault, &quickstart()), SMTP), [first.id.as_str()]);
    assert!(!vault.seen().waits.contains_key(&key(SMTP)));
    let second = put();
    assert_eq!((first.version, second.version), (1, 2));
    assert_eq!(versions(&look(&vault, &quickstart()), SMTP), [second.id.as_str()]);
}

#[test]
fn many_at_once_never_give_a_version_twice() {
    let (vault, machines) = (vault(), Machines::new(&["attic", "cellar"]));
    join(&vault, &machines);
    look(&vault, &quickstart());
    let recipient = machines.of("cellar").public();
    let put = || vault.put(&key(SMTP), supplied(&recipient)).unwrap().version;
    let mut versions: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(put)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    versions.sort_unstable();
    assert_eq!(versions, (1..=8).collect::<Vec<_>>());
    assert_eq!(
        vault.store().kept_of(&key(SMTP)).unwrap()[0].sealed.keys().collect::<Vec<_>>(),
        [&node("cellar")]
    );
}

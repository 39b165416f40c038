//! Several looks, and what changes between them.

use mesh_seal::seal;

use super::*;
use crate::fixture::{Machines, key, node, quickstart};
use crate::store::MemoryStore;

const DB: &str = "cellar.notes.db";
const SMTP: &str = "cellar.notes.secret=2Esmtp";

fn vault() -> Vault {
    let signing = SigningKey::generate(&mut SystemRandom).unwrap();
    Vault::new("home".parse().unwrap(), signing, Box::new(MemoryStore::default()))
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
    vault.look(|_| wanted.clone()).unwrap()
}

#[test]
fn a_look_tells_what_it_did_and_the_next_has_nothing_to_do() {
    let (vault, machines) = (vault(), Machines::new(&["attic", "cellar"]));
    let first = look(&vault, &quickstart());
    assert!(first.records.values().all(|record| record.versions.is_empty() && record.why.is_some()));
    join(&vault, &machines);
    let second = look(&vault, &quickstart());
    assert_eq!(second.records[&key(DB)].versions.len(), 1);
    assert_eq!(second.records[&key(DB)].why, None);
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
    assert_eq!(look(&vault, &quickstart()).records[&key(SMTP)].versions[0].id, first.id);
    assert!(!vault.seen().waits.contains_key(&key(SMTP)));
    let second = put();
    assert_eq!((first.version, second.version), (1, 2));
    let records = look(&vault, &quickstart()).records;
    assert_eq!(records[&key(SMTP)].versions.iter().map(|one| &one.id).collect::<Vec<_>>(), [&second.id]);
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

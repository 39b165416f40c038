//! One suite for both stores, and what only the file has.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::credential::Origin;
use crate::fixture::{Machines, credential, key, node};

const DB: &str = "cellar.notes.db";

fn on_both(case: impl Fn(&dyn Store)) {
    case(&MemoryStore::default());
    let folder = tempfile::tempdir().unwrap();
    case(&RedbStore::open(&folder.path().join("vault.redb")).unwrap());
}

fn made(version: u64) -> Credential {
    credential(DB, version, Origin::Own, &Machines::new(&["attic", "cellar"]).pins())
}

#[test]
fn empty_at_first() {
    on_both(|store| {
        assert!(store.pins().unwrap().is_empty());
        assert!(store.kept().unwrap().is_empty());
        assert!(store.kept_of(&key(DB)).unwrap().is_empty());
        assert_eq!(store.highest(&key(DB)).unwrap(), 0);
    });
}

#[test]
fn the_first_key_of_a_node_stays() {
    let (one, other) = (Machines::new(&["attic"]), Machines::new(&["attic"]));
    let (one, other) = (one.of("attic").public(), other.of("attic").public());
    on_both(|store| {
        assert_eq!(store.pin(&node("attic"), &one).unwrap(), Pinned::First);
        assert_eq!(store.pin(&node("attic"), &one).unwrap(), Pinned::Same);
        assert_eq!(store.pin(&node("attic"), &other).unwrap(), Pinned::Another(one.clone()));
        assert_eq!(store.pins().unwrap(), [(node("attic"), one.clone())].into());
        store.unpin(&node("attic")).unwrap();
        store.unpin(&node("attic")).unwrap();
        assert_eq!(store.pin(&node("attic"), &other).unwrap(), Pinned::First);
    });
}

#[test]
fn replaced_whole_and_dropped_whole() {
    let (first, second) = (made(1), made(2));
    let smtp = key("cellar.notes.secret=2Esmtp");
    on_both(|store| {
        store
            .commit(&[Change::Replace(key(DB), first.clone()), Change::Replace(smtp.clone(), first.clone())])
            .unwrap();
        store.commit(&[Change::Replace(key(DB), second.clone())]).unwrap();
        assert_eq!(store.kept_of(&key(DB)).unwrap(), std::slice::from_ref(&second));
        assert_eq!(store.kept().unwrap().keys().cloned().collect::<Vec<_>>(), [key(DB), smtp.clone()]);
        store.commit(&[Change::Drop(key(DB)), Change::Drop(key("no.such.thing"))]).unwrap();
        assert_eq!(store.kept().unwrap().keys().collect::<Vec<_>>(), [&smtp]);
    });
}

#[test]
fn a_version_is_never_given_twice() {
    on_both(|store| {
        store.commit(&[Change::Replace(key(DB), made(7))]).unwrap();
        store.commit(&[Change::Drop(key(DB))]).unwrap();
        assert_eq!(store.highest(&key(DB)).unwrap(), 7);
        store.commit(&[Change::Replace(key(DB), made(3))]).unwrap();
        assert_eq!(store.highest(&key(DB)).unwrap(), 7);
    });
}

#[test]
fn the_file_is_its_owners_alone_and_outlives_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault.redb");
    let machines = Machines::new(&["attic"]);
    let credential = made(4);
    {
        let store = RedbStore::open(&path).unwrap();
        store.pin(&node("attic"), &machines.of("attic").public()).unwrap();
        store.commit(&[Change::Replace(key(DB), credential.clone())]).unwrap();
    }
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let store = RedbStore::open(&path).unwrap();
    assert_eq!(mode(), 0o600);
    assert_eq!(store.kept_of(&key(DB)).unwrap(), [credential]);
    assert_eq!(store.highest(&key(DB)).unwrap(), 4);
    assert_eq!(store.pins().unwrap(), machines.pins());
}

#[test]
fn what_is_no_store_or_is_open_already_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault.redb");
    assert!(matches!(RedbStore::open(folder.path()), Err(StoreError::File { .. })));
    let open = RedbStore::open(&path).unwrap();
    assert!(matches!(RedbStore::open(&path), Err(StoreError::Open { .. })));
    drop(open);
    let rubbish = folder.path().join("rubbish");
    std::fs::copy("/proc/self/cmdline", &rubbish).unwrap();
    assert!(matches!(RedbStore::open(&rubbish), Err(StoreError::Open { .. })));
}

#[test]
fn escrow_recipients_are_kept() {
    let machines = Machines::new(&["one", "other"]);
    let (one, other) = (machines.of("one").public(), machines.of("other").public());
    on_both(|store| {
        assert!(store.confirmed().unwrap().is_empty());
        store
            .commit(&[
                Change::Confirm(one.clone(), Standing::Ahead),
                Change::Confirm(other.clone(), Standing::Named),
            ])
            .unwrap();
        store
            .commit(&[Change::Confirm(one.clone(), Standing::Named), Change::Unconfirm(other.clone())])
            .unwrap();
        store.commit(&[Change::Unconfirm(other.clone())]).unwrap();
        assert_eq!(store.confirmed().unwrap(), [(one.clone(), Standing::Named)].into());
    });
}

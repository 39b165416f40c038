//! The signing key is made once.

use std::os::unix::fs::PermissionsExt as _;

use mesh_seal::SystemRandom;

use super::*;

#[test]
fn made_once_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("vault");
    let first = signing_key(&folder, &mut SystemRandom).unwrap();
    let again = signing_key(&folder, &mut SystemRandom).unwrap();
    assert_eq!(first.verifying(), again.verifying());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.join(NAME)), 0o600);
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "the key and its store, and nothing half-made");
}

#[test]
fn a_damaged_one_is_said_and_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy("/proc/self/cmdline", folder.path().join(NAME)).unwrap();
    let error = signing_key(folder.path(), &mut SystemRandom).unwrap_err();
    assert!(matches!(error, KeyError::NotAKey { .. }));
}

#[test]
fn neither_is_made_again_without_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, key) = (folder.path(), folder.path().join(NAME));
    signing_key(folder, &mut SystemRandom).unwrap();
    fs::rename(&key, folder.join("aside")).unwrap();
    signing_key(folder, &mut SystemRandom).expect("nothing was signed yet: a start that was cut off");

    let store = RedbStore::open(&store_file(folder)).unwrap();
    store.pin(&"attic".parse().unwrap(), &mesh_seal::SealingKey::generate().public()).unwrap();
    drop(store);
    fs::remove_file(&key).unwrap();
    let error = signing_key(folder, &mut SystemRandom).unwrap_err();
    assert!(matches!(error, KeyError::Gone { .. }) && !key.exists());

    fs::rename(folder.join("aside"), &key).unwrap();
    fs::remove_file(store_file(folder)).unwrap();
    signing_key(folder, &mut SystemRandom).unwrap();
    let store = RedbStore::open(&store_file(folder)).unwrap();
    assert!(store.followed().unwrap().is_lost, "what it kept is not forgotten without a word");
}

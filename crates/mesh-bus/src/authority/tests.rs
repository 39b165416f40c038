//! Tests of the keys' keeping.

use super::*;

fn clock() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(1_700_000_000).unwrap()
}

#[test]
fn keys_are_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let attic = Account::Node("attic".parse().unwrap());
    let first = Authority::open(folder.path(), clock).unwrap();
    let again = Authority::open(folder.path(), clock).unwrap();
    assert_eq!(first.operator_token(), again.operator_token());
    assert_eq!(first.preloaded().unwrap(), again.preloaded().unwrap());
    assert_eq!(first.account(&attic).unwrap(), again.account(&attic).unwrap());
    let cellar = Account::Node("cellar".parse().unwrap());
    assert_ne!(first.account(&attic).unwrap(), first.account(&cellar).unwrap());
}

#[test]
fn a_key_that_is_forgotten_is_never_made_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let attic = Account::Node("attic".parse().unwrap());
    let authority = Authority::open(folder.path(), clock).unwrap();
    let before = authority.account(&attic).unwrap();
    authority.forget(&attic).unwrap();
    assert_ne!(authority.account(&attic).unwrap(), before);
}

#[test]
fn a_file_that_is_no_key_is_said_and_kept() {
    for text in ["", "nonsense", &KeyPair::new_user().seed().unwrap()] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bus.nk");
        keep::write(&path, text).unwrap();
        let error = Authority::open(folder.path(), clock).unwrap_err();
        assert!(matches!(&error, AuthorityError::Key { path: said } if *said == path), "{error:?}");
        assert_eq!(keep::read(&path).unwrap().unwrap(), text);
    }
}

#[test]
fn a_key_that_is_gone_is_not_made_again_once_anybody_has_an_account() {
    for name in ["operator.nk", "system.nk", "bus.nk"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        Authority::open(folder.path(), clock).unwrap();
        keep::remove(&path).unwrap();
        let authority =
            Authority::open(folder.path(), clock).expect("a start that was cut off is made whole");
        authority.account(&Account::Node("attic".parse().unwrap())).unwrap();
        keep::remove(&path).unwrap();
        let error = Authority::open(folder.path(), clock).unwrap_err();
        assert!(matches!(&error, AuthorityError::Gone { path: gone } if *gone == path), "{error}");
        assert!(!path.exists());
    }
}

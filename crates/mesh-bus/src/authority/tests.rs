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
    assert_eq!(first.preloaded(), again.preloaded());
    assert_eq!(first.account(&attic), again.account(&attic));
    let cellar = Account::Node("cellar".parse().unwrap());
    assert_ne!(first.account(&attic), first.account(&cellar));
    let other = tempfile::tempdir().unwrap();
    let other = Authority::open(other.path(), clock).unwrap();
    assert_ne!(first.account(&attic), other.account(&attic), "it follows from this mesh's key");
}

#[test]
fn an_account_that_has_ended_is_never_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let attic = Account::Node("attic".parse().unwrap());
    let authority = Authority::open(folder.path(), clock).unwrap();
    let first = authority.account(&attic);
    authority.revoke(&attic, "UABC");
    assert_eq!(authority.account(&attic), first);
    authority.end(&attic);
    let second = authority.account(&attic);
    assert_ne!(second, first);
    assert_eq!(authority.standing(&attic), Standing { epoch: 1, revoked: Vec::new() });
    let again = Authority::open(folder.path(), clock).unwrap();
    assert_eq!(again.account(&attic), first, "how it stands is kept by somebody else");
    again.set_standing(&attic, Standing { epoch: 1, revoked: Vec::new() });
    assert_eq!(again.account(&attic), second);
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
fn a_key_that_is_gone_is_not_made_again_once_all_were_there() {
    for name in ["operator.nk", "system.nk", "bus.nk"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        Authority::open(folder.path(), clock).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(folder.path().join(MADE)).unwrap();
        Authority::open(folder.path(), clock).expect("a start that was cut off is made whole");
        std::fs::remove_file(&path).unwrap();
        let error = Authority::open(folder.path(), clock).unwrap_err();
        assert!(matches!(&error, AuthorityError::Gone { path: gone } if *gone == path), "{error}");
        assert!(!path.exists());
    }
}

//! An authority is made once, a certificate when it is due, and neither is replaced by guesswork.

use super::*;

fn now() -> OffsetDateTime {
    time::macros::datetime!(2030-01-01 12:00 UTC)
}

fn in_sixty_days() -> OffsetDateTime {
    now() + Duration::days(60)
}

fn names() -> Vec<String> {
    vec!["192.168.1.10".to_owned(), "attic.example".to_owned()]
}

#[test]
fn an_authority_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let first = Ca::open(folder.path(), now).unwrap();
    let again = Ca::open(folder.path(), in_sixty_days).unwrap();
    assert_eq!((first.pem(), first.fingerprint()), (again.pem(), again.fingerprint()));
    assert_eq!(fingerprint(first.pem()).as_ref(), Some(first.fingerprint()));
    let other = Ca::open(&folder.path().join("other"), now).unwrap();
    assert_ne!(first.fingerprint(), other.fingerprint());
}

#[test]
fn a_start_that_was_cut_off_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let first = Ca::open(folder.path(), now).unwrap();
    std::fs::remove_file(first.path()).unwrap();
    let again = Ca::open(folder.path(), now).unwrap();
    assert_eq!(first.key.public_key_raw(), again.key.public_key_raw());
}

#[test]
fn what_is_gone_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::open(folder.path(), now).unwrap();
    ca.certify(&names()).unwrap();
    let (key, pem) = (folder.path().join("ca.key"), folder.path().join("ca.pem"));
    let text = std::fs::read_to_string(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    assert!(matches!(Ca::open(folder.path(), now), Err(TlsError::Gone { path }) if path == key));
    keep::write(&key, "no key").unwrap();
    assert!(matches!(Ca::open(folder.path(), now), Err(TlsError::Damaged { path, .. }) if path == key));
    keep::write(&key, &text).unwrap();
    std::fs::remove_file(&pem).unwrap();
    assert!(matches!(Ca::open(folder.path(), now), Err(TlsError::Gone { path }) if path == pem));
}

#[test]
fn a_certificate_is_made_when_it_is_due_or_for_other_names() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::open(folder.path(), now).unwrap();
    assert_eq!(ca.certified().unwrap(), None);
    assert!(ca.certify(&names()).unwrap(), "there is none");
    assert!(!ca.certify(&names()).unwrap(), "it is good");
    let has = ca.certified().unwrap().unwrap();
    assert_eq!(has.until, now() + Duration::days(90));
    assert!(has.names.contains(&"attic.example".to_owned()) && has.names.contains(&"127.0.0.1".to_owned()));
    assert!(ca.certify(&names()[..1]).unwrap(), "it is for other names");
    let later = Ca::open(folder.path(), || in_sixty_days() - Duration::seconds(1)).unwrap();
    assert!(!later.certify(&names()[..1]).unwrap(), "it is not due yet");
    let later = Ca::open(folder.path(), in_sixty_days).unwrap();
    assert!(later.certify(&names()[..1]).unwrap(), "two thirds are over");
}

#[test]
fn only_we_may_read_keys() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::open(&folder.path().join("ca"), now).unwrap();
    ca.certify(&names()).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path().join("ca")), 0o700);
    assert_eq!(mode(&folder.path().join("ca/ca.key")), 0o600);
    assert_eq!(mode(&ca.certificate()), 0o600);
    assert!(!format!("{ca:?}").contains("PRIVATE"));
}

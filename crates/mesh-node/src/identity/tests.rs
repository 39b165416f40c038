//! Keys are made once, and never in the place of one that was lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use mesh_bus::account::Account;
use mesh_seal::SigningKey;

use super::*;

fn joined() -> Joined {
    let account = Account::Node("cellar".parse().unwrap());
    let signer = SigningKey::generate(&mut SystemRandom).unwrap().verifying();
    let keys = tempfile::tempdir().unwrap();
    let authority = mesh_bus::Authority::open(keys.path(), time::OffsetDateTime::now_utc).unwrap();
    let creds = authority.creds(&account);
    Joined { mesh: "home".parse().unwrap(), signer, creds, at: None }
}

#[test]
fn made_once_and_private() {
    let state = tempfile::tempdir().unwrap();
    let mut first = Identity::open(state.path()).unwrap();
    first.join(state.path(), joined()).unwrap();
    let again = Identity::open(state.path()).unwrap();
    assert_eq!(first.sealing.public(), again.sealing.public());
    assert_eq!(again.joined.unwrap().mesh.as_str(), "home");
    for entry in fs::read_dir(state.path().join("identity")).unwrap() {
        assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    }
}

#[test]
fn a_sealing_key_that_is_gone_or_damaged_is_not_made_anew() {
    let state = tempfile::tempdir().unwrap();
    let key = state.path().join("identity/sealing.key");
    Identity::open(state.path()).unwrap().join(state.path(), joined()).unwrap();
    fs::rename(&key, state.path().join("aside")).unwrap();
    let error = Identity::open(state.path()).err().unwrap();
    assert!(matches!(&error, Error::Gone { path } if *path == key) && !key.exists(), "{error}");
    for garbage in ["", "AGE-SECRET-KEY-1", "\0\0"] {
        let file = FileToWrite {
            path: Path::new("sealing.key"),
            content: garbage.as_bytes(),
            mode: 0o600,
            owner: None,
        };
        files::write_all(key.parent().unwrap(), &[file]).unwrap();
        let error = Identity::open(state.path()).err().unwrap();
        assert!(matches!(&error, Error::Damaged { path, .. } if *path == key), "{error}");
    }
    fs::rename(state.path().join("aside"), &key).unwrap();
    Identity::open(state.path()).unwrap();
}

#[test]
fn who_joins_goes_on_with_the_same_keys_until_all_is_there() {
    let state = tempfile::tempdir().unwrap();
    let first = Joining::begin(state.path()).unwrap();
    let again = Joining::begin(state.path()).unwrap();
    assert_eq!(first.user().public(), again.user().public());
    assert!(Identity::open(state.path()).unwrap().joined.is_none(), "it has not joined");
    let at = Address { urls: vec!["tls://192.168.1.10:7422".to_owned()], ca: Some(again.ca()) };
    again.finish(&Joined { at: Some(at), ..joined() }).unwrap();
    let identity = Identity::open(state.path()).unwrap();
    let at = identity.joined.unwrap().at.unwrap();
    assert_eq!(at.urls, ["tls://192.168.1.10:7422"]);
    assert_eq!(at.ca.unwrap(), state.path().join("identity/ca.pem"));
    assert!(state.path().join("identity.before").exists(), "the one that had not joined");
    assert!(!state.path().join("joining").exists());
}

#[test]
fn an_end_between_any_two_steps_of_taking_its_place_does_no_harm() {
    for steps in 0..2 {
        let state = tempfile::tempdir().unwrap();
        Identity::open(state.path()).unwrap().join(state.path(), joined()).unwrap();
        let joining = Joining::begin(state.path()).unwrap();
        let sealing = Identity::open_in(&joining.folder).unwrap().sealing.public();
        joining.folder.keep(&joined()).unwrap();
        if steps > 0 {
            fs::rename(state.path().join("identity"), state.path().join("identity.before")).unwrap();
        }
        let identity = Identity::open(state.path()).unwrap();
        assert_eq!(identity.sealing.public(), sealing, "after {steps}");
        assert!(identity.joined.is_some());
    }
}

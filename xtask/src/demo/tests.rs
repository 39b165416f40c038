//! What is in the way of other users is found, and a folder of somebody else's is not used.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

#[test]
fn a_folder_that_others_may_not_search_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a/b");
    fs::create_dir_all(&inner).unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let closed_outside = reach::closed_above(folder.path());
    assert_eq!(reach::closed_above(&inner), closed_outside);
    fs::set_permissions(folder.path().join("a"), PermissionsExt::from_mode(0o750)).unwrap();
    if closed_outside.is_none() {
        assert_eq!(reach::closed_above(&inner.join("not/there")), Some(folder.path().join("a")));
    }
}

#[test]
fn a_folder_made_by_others_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let (wide, link) = (folder.path().join("wide"), folder.path().join("link"));
    fs::create_dir(&wide).unwrap();
    fs::set_permissions(&wide, PermissionsExt::from_mode(0o777)).unwrap();
    symlink(&wide, &link).unwrap();
    for path in [wide, link] {
        assert!(matches!(own_folder(&path), Err(Error::NotOurs { .. })), "{}", path.display());
    }
}

#[test]
fn programs_are_replaced_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (built, programs) = (folder.path().join("built"), folder.path().join("bin"));
    fs::create_dir(&built).unwrap();
    for round in ["one", "two"] {
        for name in PROGRAMS {
            let mut file = fs::File::create(built.join(name)).unwrap();
            std::io::Write::write_all(&mut file, round.as_bytes()).unwrap();
        }
        copy(&built, &programs).unwrap();
        assert_eq!(fs::read_to_string(programs.join("mesh")).unwrap(), round);
        assert_eq!(fs::read_dir(&programs).unwrap().count(), PROGRAMS.len(), "nothing is left beside them");
    }
}

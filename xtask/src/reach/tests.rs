//! What is in the way of other users is found, and a folder of somebody else's is not used.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn a_folder_that_others_may_not_search_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a/b");
    fs::create_dir_all(&inner).unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    // Wherever temporary folders are, that itself may be closed; then it is what is named.
    let outside = closed_above(folder.path());
    assert_eq!(closed_above(&inner), outside);
    fs::set_permissions(folder.path().join("a"), PermissionsExt::from_mode(0o750)).unwrap();
    assert_eq!(closed_above(&inner.join("not/there")), outside.or(Some(folder.path().join("a"))));
}

#[test]
fn a_folder_that_others_may_write_to_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let (wide, link) = (folder.path().join("wide"), folder.path().join("link"));
    fs::create_dir(&wide).unwrap();
    fs::set_permissions(&wide, PermissionsExt::from_mode(0o777)).unwrap();
    symlink(&wide, &link).unwrap();
    for path in [wide, link] {
        let shown = path.display().to_string();
        assert!(matches!(own_folder(path), Err(Error::NotOurs { .. })), "{shown}");
    }
}

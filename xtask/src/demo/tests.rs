//! Where the demo keeps its state.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn the_state_is_where_services_can_reach_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let mut place = Place::of_this_checkout();
    place.root = folder.path().join("mesh");
    place.root_user = false;
    let default = place.root.join("examples/quickstart/.mesh");
    assert_eq!(choose_state(&place, None).unwrap(), default);

    place.root_user = true;
    let named = folder.path().join("state");
    assert!(matches!(choose_state(&place, Some(&named)), Err(Error::OutOfReach { .. })));
    place.root_user = false;
    assert_eq!(choose_state(&place, Some(&named)).unwrap(), named);
}

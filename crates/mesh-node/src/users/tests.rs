//! Lines of the two lists, good and bad.

use super::*;

const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nbroken\nnotes:x:101:104:,,,:/srv/notes:/bin/false\n";
const GROUPS: &str = "root:x:0:\ntls:x:7:web,notes\nnotes:x:104:notes\nother:x:9:notes2\n";

#[test]
fn a_user_has_its_first_group_and_those_that_name_it() {
    let user = find_in(USERS, GROUPS, |user| user.name == "notes").unwrap();
    assert_eq!((user.uid, user.gid), (101, 104));
    assert_eq!(user.groups, [104, 7]);
    assert_eq!(user.home, Path::new("/srv/notes"));
}

#[test]
fn a_user_that_is_not_there_is_said_with_the_way_out() {
    let error = find("nobody-of-that-name").unwrap_err();
    assert!(error.to_string().contains("useradd --system nobody-of-that-name"), "{error}");
}

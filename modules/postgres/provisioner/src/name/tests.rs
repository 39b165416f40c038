//! Names fit, and are never equal for two.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn consumer(module: &str, node: &str, local: &str) -> ConsumerId {
    ConsumerId { node: node.parse().unwrap(), module: module.parse().unwrap(), local: local.parse().unwrap() }
}

#[test]
fn a_login_is_called_as_the_contract_shows() {
    let role = RoleName::login(&consumer("notes", "cellar", "db"), "c7f3");
    assert_eq!(role.as_str(), "notes_cellar_db_c7f3");
}

#[test]
fn a_module_called_pg_gets_a_name_that_postgresql_does_not_keep_for_itself() {
    let role = RoleName::login(&consumer("pg", "cellar", "db"), "c7f3");
    assert!(role.as_str().starts_with("pg.cellar.db."), "{role}");
}

#[test]
fn names_equal_in_their_first_63_bytes_are_two_roles() {
    let long = "a".repeat(63);
    let mut roles = BTreeSet::new();
    for local in ["a", "b"] {
        for id in ["c7f3", "c7f4"] {
            roles.insert(RoleName::login(&consumer(&long, &long, local), id));
        }
    }
    for database in ["x".repeat(62), "x".repeat(63)] {
        let database = DatabaseName::contributed(&database).unwrap();
        roles.insert(RoleName::group(&long.parse().unwrap(), &database));
    }
    assert_eq!(roles.len(), 6);
    assert!(roles.iter().all(|role| role.as_str().len() <= LONGEST));
}

#[test]
fn a_database_that_cannot_be_is_said() {
    for (name, said) in [("", "empty"), (&*"x".repeat(64), "64 bytes"), ("a\nb", "control")] {
        assert!(DatabaseName::contributed(name).unwrap_err().contains(said), "{name}");
    }
}

const LABEL: &str = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
const LOCAL: &str = "[a-z][a-z0-9_-]{0,62}";

proptest! {
    #[test]
    fn no_two_are_ever_one(
        parts in proptest::collection::btree_set((LABEL, LABEL, LOCAL, "[!-~]{1,40}"), 1..20),
        databases in proptest::collection::btree_set((LABEL, "\\PC{1,15}"), 1..20),
    ) {
        let mut roles = BTreeSet::new();
        for (module, node, local, id) in &parts {
            roles.insert(RoleName::login(&consumer(module, node, local), id));
        }
        for (module, database) in &databases {
            let database = DatabaseName::contributed(database).unwrap();
            roles.insert(RoleName::group(&module.parse().unwrap(), &database));
        }
        prop_assert_eq!(roles.len(), parts.len() + databases.len());
        for role in roles {
            prop_assert!(role.as_str().len() <= LONGEST && !role.as_str().starts_with("pg_"));
        }
    }

    #[test]
    fn where_one_part_ends_and_the_next_begins_matters(a in "[a-z]{1,3}", b in "[a-z_]{1,3}", c in "[a-z_]{1,3}") {
        let one = RoleName::login(&consumer("m", "n", &format!("{a}_{b}")), &c);
        let other = RoleName::login(&consumer("m", "n", &a), &format!("{b}_{c}"));
        prop_assert_ne!(one, other);
    }
}

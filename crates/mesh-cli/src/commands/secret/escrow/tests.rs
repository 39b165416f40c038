//! The archive, read by the real `tar` and `age`.

use std::process::{Command, Output};

use mesh_seal::{SealingKey, seal};

use super::*;

fn entry(name: &str, version: u64, to: &[&SealingKey]) -> Entry {
    let copy = |key: &&SealingKey| {
        let text = format!("{name} {version}\n");
        (key.public(), seal(&key.public(), text.as_bytes()).unwrap())
    };
    Escrowed {
        node: "cellar".parse().unwrap(),
        module: "notes".parse().unwrap(),
        name: name.to_owned(),
        id: "00c0ffee00c0ffee".to_owned(),
        version,
        copies: to.iter().map(copy).collect(),
    }
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; `cargo xtask setup` installs it"))
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "nobody else reads the files of a test")]
fn plain_tar_and_plain_age_are_enough() {
    let (one, other) = (SealingKey::generate(), SealingKey::generate());
    let all = [entry("db", 1, &[&one, &other]), entry("db", 2, &[&one]), entry("secret.admin", 7, &[&other])];
    let (mesh, to) = ("home".parse().unwrap(), BTreeSet::from([one.public(), other.public()]));
    let archive = Archive { mesh: &mesh, to: &to, at: OffsetDateTime::UNIX_EPOCH };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("escrow.tar");
    std::fs::write(&file, archive.of(&all).unwrap()).unwrap();
    said(&run(Command::new("tar").arg("-xf").arg(&file).arg("-C").arg(folder.path())));
    let inside = folder.path().join("home-escrow");
    assert!(std::fs::read_to_string(inside.join("README")).unwrap().contains("1970-01-01"));

    let key = folder.path().join("key.txt");
    std::fs::write(&key, one.to_text().expose()).unwrap();
    let open = |of: &SealingKey, name: &str| {
        let path = inside.join(of.public().to_string()).join("cellar/notes").join(name);
        run(Command::new("age").arg("-d").arg("-i").arg(&key).arg(path))
    };
    assert_eq!(said(&open(&one, "db.v1.age")), "db 1\n");
    assert_eq!(said(&open(&one, "db.v2.age")), "db 2\n");
    assert!(!open(&other, "db.v1.age").status.success(), "it is another's");
    assert!(!inside.join(one.public().to_string()).join("cellar/notes/secret.admin.v7.age").exists());
}

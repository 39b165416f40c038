//! What others notice, word for word.

use super::*;
use crate::fixture::{Machines, credential, key, quickstart};

#[test]
fn ids_and_versions_or_why_there_are_none() {
    let (wanted, pins) = (quickstart(), Machines::new(&["attic"]).pins());
    let superuser = key("attic.postgres.secret=2Esuperuser");
    let old = credential("attic.postgres", 3, wanted.entries[&superuser].origin(), &pins);
    let kept = [(superuser.clone(), vec![old])].into();
    let records = records(&wanted, &kept, &pins, &Rotations::new());

    let lines: Vec<_> = records.values().map(|record| serde_json::to_string(record).unwrap()).collect();
    let why = "node cellar has not joined: the vault does not know its sealing key";
    let waiting = |name| {
        format!(r#"{{"v":1,"node":"cellar","module":"notes","name":"{name}","versions":[],"why":"{why}"}}"#)
    };
    let live = r#"{"v":1,"node":"attic","module":"postgres","name":"secret.superuser","versions":[{"id":"c7f3","version":3}]}"#;
    assert_eq!(lines, [live.to_owned(), waiting("db"), waiting("secret.smtp")]);
}

#[test]
fn a_supplied_one_says_how_to_supply_it() {
    let pins = Machines::new(&["attic", "cellar"]).pins();
    let waits = waits(&quickstart(), &Kept::new(), &pins);
    assert_eq!(
        waits[&key("cellar.notes.secret=2Esmtp")],
        "it is not supplied yet: mesh secret set notes.smtp --node cellar"
    );
}

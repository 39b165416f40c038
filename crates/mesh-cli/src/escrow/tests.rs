//! What is told of recipients.

use mesh_model::wire::VaultOrigin;
use mesh_seal::SealingKey;

use super::*;

fn entry(module: &str, name: &str, origin: VaultOrigin, escrow: &[&Recipient]) -> VaultEntry<Recipient> {
    VaultEntry {
        node: "cellar".parse().unwrap(),
        module: module.parse().unwrap(),
        name: name.to_owned(),
        origin,
        provider: None,
        state: VaultState::Live,
        why: None,
        versions: vec![],
        recipients: BTreeMap::new(),
        escrow: escrow.iter().map(|one| (*one).clone()).collect(),
    }
}

#[test]
fn each_recipient_says_what_it_waits_for_and_what_it_cannot_open() {
    let (key, other) = (SealingKey::generate().public(), SealingKey::generate().public());
    let waiting = VaultEntry { state: VaultState::Waiting, ..entry("notes", "late", VaultOrigin::Own, &[]) };
    let entries = [
        entry("notes", "db", VaultOrigin::Credential, &[&other]),
        entry("notes", "secret.admin", VaultOrigin::Own, &[&other, &key]),
        entry("notes", "secret.smtp", VaultOrigin::Supplied, &[]),
        waiting,
    ];
    let told = |recipient: &str, state| super::told(recipient, state, &entries);
    let name = key.to_string();
    let all = [
        told(&name, Standing::Sealed),
        told(&name, Standing::Waiting),
        told(&name, Standing::LeftOut),
        super::told(&name, Standing::Sealed, &[]),
    ];
    insta::assert_snapshot!(lines(&all).join("\n").replace(&name, "age1KEY"), @"
    escrow: age1KEY
      cannot open what was made before it was confirmed. Made anew, it can:
        mesh secret rotate notes.db --node cellar
        mesh secret set notes.smtp --node cellar
    escrow: age1KEY
      waits: nothing is sealed to it until, on the server's machine,
        mesh secret confirm-escrow age1KEY
    escrow: age1KEY
      is left out: nothing more is sealed to it; what it could open, it can open still
    ");
}

#[test]
fn many_are_not_all_named() {
    let entries: Vec<_> =
        (0..30).map(|n| entry(&format!("m{n}"), "db", VaultOrigin::Credential, &[])).collect();
    let lines = anew(&unreadable("age1", &entries));
    assert_eq!((lines.len(), lines.last().unwrap().as_str()), (11, "    … and 20 more"));
}

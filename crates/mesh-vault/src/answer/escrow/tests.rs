//! What is handed over, page by page, and what is refused.

use std::sync::Arc;
use std::time::Instant;

use std::collections::BTreeMap;

use mesh_model::wire::{EscrowState, PutAsk};
use mesh_seal::{SealingKey, SigningKey, SystemRandom, seal};

use super::*;
use crate::answer::{list, put, recipients as recipients_of};
use crate::fixture::{Machines, key, own, quickstart};
use crate::rules::Wanted;
use crate::store::MemoryStore;

struct Case {
    vault: Vault,
    machines: Machines,
    person: SealingKey,
    wanted: Wanted,
}

/// A vault whose plan names a person who was confirmed before anything was made.
fn case(wanted: Wanted) -> Case {
    let signing = SigningKey::generate(&mut SystemRandom).unwrap();
    let vault = Vault::new("home".parse().unwrap(), signing, Arc::new(MemoryStore::default()));
    let (machines, person) = (Machines::new(&["attic", "cellar"]), SealingKey::generate());
    for (node, key) in machines.pins() {
        vault.pin(&node, &key).unwrap();
    }
    confirm(&vault, &ConfirmEscrowAsk { recipient: person.public() }).unwrap();
    let case = Case { vault, machines, person, wanted };
    case.name(&[&case.person]);
    case
}

impl Case {
    fn name(&self, named: &[&SealingKey]) {
        let escrow = Some(named.iter().map(|key| key.public()).collect());
        self.vault.look(|_| Wanted { escrow, ..self.wanted.clone() }, &|_| None, Instant::now()).unwrap();
    }

    fn all(&self) -> Vec<Escrowed<Recipient, Ciphertext>> {
        let (mut entries, mut ask) = (Vec::new(), EscrowedAsk::default());
        loop {
            let page = copies(&self.vault, &ask).unwrap();
            entries.extend(page.entries);
            match page.next {
                Some(next) => ask.after = Some(next),
                None => return entries,
            }
        }
    }

    fn put(&self, id: Option<&str>, escrow: &[&SealingKey]) -> PutAsk<Recipient, Ciphertext> {
        let recipient = self.machines.of("cellar").public();
        let ciphertext = seal(&recipient, b"{}").unwrap();
        let copy = |key: &&SealingKey| (key.public(), seal(&key.public(), b"{}").unwrap());
        PutAsk {
            node: "cellar".parse().unwrap(),
            module: "notes".parse().unwrap(),
            name: "smtp".parse().unwrap(),
            recipient,
            ciphertext,
            id: id.map(str::to_owned),
            escrow: escrow.iter().map(copy).collect(),
        }
    }
}

#[test]
fn all_that_is_sealed_is_handed_over_page_by_page() {
    let many = (0..700).map(|n| (key(&format!("attic.module-{n}.secret=2Eadmin")), own()));
    let case = case(Wanted { entries: many.collect(), ..Wanted::default() });
    let first = copies(&case.vault, &EscrowedAsk::default()).unwrap();
    assert!(first.next.is_some() && serde_json::to_vec(&first).unwrap().len() < mesh_bus::verb::MAX_ANSWER);
    let all = case.all();
    assert_eq!(all.len(), 700);
    for entry in &all {
        let opened = case.person.open(&entry.copies[&case.person.public()]).unwrap();
        let label: mesh_model::wire::EscrowLabel = serde_json::from_slice(opened.expose()).unwrap();
        assert_eq!((&label.module, &label.id, label.version), (&entry.module, &entry.id, Some(1)));
    }
}

#[test]
fn one_who_is_left_out_is_handed_nothing_more() {
    let case = case(quickstart());
    assert!(case.all().iter().all(|entry| entry.copies.len() == 1));
    case.name(&[]);
    assert!(case.all().iter().all(|entry| entry.copies.is_empty()));
    let listed = list(&case.vault, &Default::default()).unwrap();
    assert!(
        listed.entries.iter().any(|entry| entry.escrow == [case.person.public()]),
        "it can open it still"
    );
}

#[test]
fn what_an_operator_seals_is_sealed_to_all_of_them() {
    let (case, stranger) = (case(quickstart()), SealingKey::generate());
    let ask = mesh_model::wire::RecipientsAsk {
        module: "notes".parse().unwrap(),
        name: "smtp".parse().unwrap(),
        node: None,
    };
    assert_eq!(recipients_of(&case.vault, &ask).unwrap().escrow, [case.person.public()]);
    for sealed_to in [&[][..], &[&stranger], &[&case.person, &stranger]] {
        assert_eq!(put(&case.vault, case.put(None, sealed_to)).unwrap_err().code, "escrow-changed");
    }
    let id = "00c0ffee00c0ffee";
    assert_eq!(put(&case.vault, case.put(Some(id), &[&case.person])).unwrap().id, id);
    let smtp = case.all().into_iter().find(|entry| entry.name == "secret.smtp").unwrap();
    assert_eq!((smtp.id.as_str(), smtp.copies.len()), (id, 1));
    for wrong in [id, "", "c0ffee", "00C0FFEE00C0FFEE", "../../../etc/pass"] {
        let refused = put(&case.vault, case.put(Some(wrong), &[&case.person])).unwrap_err();
        assert_eq!(refused.code, "bad-request", "{wrong}");
    }
}

#[test]
fn whoever_is_confirmed_late_is_told_what_it_cannot_open() {
    let (case, late) = (case(quickstart()), SealingKey::generate());
    case.name(&[&case.person, &late]);
    let standing: BTreeMap<_, _> =
        [(case.person.public(), EscrowState::Sealed), (late.public(), EscrowState::Waiting)].into();
    assert_eq!(recipients(&case.vault).recipients, standing);
    let answer = confirm(&case.vault, &ConfirmEscrowAsk { recipient: late.public() }).unwrap();
    assert_eq!(answer.state, EscrowState::Sealed);
    assert_eq!(answer.unreadable, ["attic.postgres.secret.superuser", "cellar.notes.db"]);
    // Again changes nothing.
    assert_eq!(confirm(&case.vault, &ConfirmEscrowAsk { recipient: late.public() }).unwrap(), answer);
}

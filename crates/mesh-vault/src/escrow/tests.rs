//! Who is sealed to: named by the plan and confirmed, both.

use std::sync::Arc;
use std::time::Instant;

use mesh_seal::SealingKey;
use serde_json::Value;

use super::*;
use crate::apply::Maker;
use crate::fixture::{Machines, key, quickstart};
use crate::rules::Wanted;
use crate::store::{MemoryStore, Store as _};
use crate::vault::Vault;

const DB: &str = "cellar.notes.db";

fn recipients<const N: usize>() -> [Recipient; N] {
    std::array::from_fn(|_| SealingKey::generate().public())
}

fn set<const N: usize>(all: [&Recipient; N]) -> BTreeSet<Recipient> {
    all.into_iter().cloned().collect()
}

#[test]
fn only_what_is_named_and_confirmed_is_sealed_to() {
    let [both, named, confirmed] = &recipients();
    let planned = set([both, named]);
    let store = [(both.clone(), Standing::Named), (confirmed.clone(), Standing::Ahead)].into();
    let escrow = Escrow::of(Some(&planned), &store);
    assert_eq!(escrow.sealed, set([both]));
    assert_eq!(escrow.waiting, set([named]));
    assert_eq!(escrow.ahead, set([confirmed]));
    assert_eq!(changes(Some(&planned), &store), []);
}

#[test]
fn a_confirmation_ends_with_the_plan_that_stops_naming_it() {
    let [one] = &recipients();
    let ahead = [(one.clone(), Standing::Ahead)].into();
    // Confirmed before the plan that names it, it waits for that.
    assert_eq!(changes(Some(&set([])), &ahead), []);
    assert_eq!(changes(Some(&set([one])), &ahead), [Change::Confirm(one.clone(), Standing::Named)]);
    let named = [(one.clone(), Standing::Named)].into();
    assert_eq!(changes(Some(&set([one])), &named), []);
    assert_eq!(changes(Some(&set([])), &named), [Change::Unconfirm(one.clone())]);
}

#[test]
fn a_plan_that_is_not_known_takes_nothing_away() {
    let [named, ahead] = &recipients();
    let store = [(named.clone(), Standing::Named), (ahead.clone(), Standing::Ahead)].into();
    assert_eq!(changes(None, &store), []);
    assert_eq!(Escrow::of(None, &store).sealed, set([named]));
}

/// A vault with both machines, and a person with a key.
struct Case {
    vault: Vault,
    machines: Machines,
    person: SealingKey,
}

impl Case {
    fn new() -> Self {
        let signing = mesh_seal::SigningKey::generate(&mut mesh_seal::SystemRandom).unwrap();
        let vault = Vault::new("home".parse().unwrap(), signing, Arc::new(MemoryStore::default()));
        let machines = Machines::new(&["attic", "cellar"]);
        for (node, key) in machines.pins() {
            vault.pin(&node, &key).unwrap();
        }
        Self { vault, machines, person: SealingKey::generate() }
    }

    fn look<const N: usize>(&self, named: [&SealingKey; N]) {
        let escrow = Some(named.iter().map(|key| key.public()).collect());
        let look = self.vault.look(|_| Wanted { escrow, ..quickstart() }, &|_| None, Instant::now()).unwrap();
        assert!(look.failed.is_empty());
    }

    fn newest(&self, text: &str) -> crate::credential::Credential {
        self.vault.store().kept_of(&key(text)).unwrap().pop().unwrap()
    }

    fn cannot_open(&self) -> usize {
        unreadable(&self.person.public(), &self.vault.store().kept().unwrap()).len()
    }
}

#[test]
fn a_recipient_that_only_the_plan_names_gets_nothing() {
    let case = Case::new();
    case.look([&case.person]);
    assert!(case.newest(DB).escrow.is_empty());
    assert_eq!(case.vault.seen().escrow.waiting, set([&case.person.public()]));
    // Confirmed afterwards, it cannot open what was made before.
    assert_eq!(case.vault.confirm(&case.person.public()).unwrap(), EscrowState::Sealed);
    case.look([&case.person]);
    assert!(case.newest(DB).escrow.is_empty());
    assert_eq!(case.cannot_open(), 2);
}

#[test]
fn what_is_made_says_on_its_inside_what_it_is() {
    let case = Case::new();
    assert_eq!(case.vault.confirm(&case.person.public()).unwrap(), EscrowState::Ahead);
    case.look([&case.person]);
    assert_eq!(case.cannot_open(), 0);
    let made = case.newest(DB);
    let opened = case.person.open(&made.escrow[&case.person.public()]).unwrap();
    let text = opened.expose_text().unwrap();
    assert!(text.ends_with("}\n") && text.lines().count() == 1, "one line");
    let opened: Value = serde_json::from_str(text).unwrap();
    let node: mesh_model::name::NodeName = "cellar".parse().unwrap();
    let expect = mesh_seal::Expect {
        mesh: "home",
        node: "cellar",
        owner: "cellar.notes",
        name: "db",
        at_least_version: 1,
    };
    let delivered =
        made.sealed[&node].open(case.machines.of("cellar"), &case.vault.verifying(), &expect).unwrap();
    let delivered: Value = serde_json::from_slice(delivered.expose()).unwrap();
    assert_eq!(opened["secrets"], delivered, "the same secret");
    let mut label = opened;
    label.as_object_mut().unwrap().remove("secrets");
    let provider = serde_json::json!({"module": "postgres", "node": "attic"});
    assert_eq!(
        label,
        serde_json::json!({
            "v": 1, "mesh": "home", "node": "cellar", "module": "notes", "name": "db", "id": made.id, "version": 1,
            "origin": "credential", "provider": provider, "provision": "postgres-database",
        })
    );
}

#[test]
fn left_out_and_named_again_it_has_to_be_confirmed_again() {
    let case = Case::new();
    case.vault.confirm(&case.person.public()).unwrap();
    case.look([&case.person]);
    case.look([]);
    assert!(!case.newest(DB).escrow.is_empty(), "what was sealed stays");
    case.look([&case.person]);
    let seen = case.vault.seen();
    assert_eq!(seen.escrow.waiting, set([&case.person.public()]));
    assert!(seen.escrow.sealed.is_empty());
}

#[test]
fn nobody_to_seal_to_costs_nothing() {
    let (mesh, signing) =
        ("home".parse().unwrap(), mesh_seal::SigningKey::generate(&mut mesh_seal::SystemRandom).unwrap());
    let (nobody, random) = (BTreeSet::new(), &mut mesh_seal::SystemRandom);
    let steps = crate::plan::plan(&quickstart(), &Kept::new(), &Machines::new(&["attic", "cellar"]).pins());
    let store = MemoryStore::default();
    let mut maker = Maker { mesh: &mesh, signing: &signing, escrow: &nobody, random };
    crate::apply::apply(&steps, &mut maker, &store).unwrap();
    let kept = store.kept().unwrap();
    assert_eq!(kept.len(), 2);
    assert!(kept.values().flatten().all(|one| one.escrow.is_empty()));
    assert!(!serde_json::to_string(&kept[&key(DB)]).unwrap().contains("escrow"), "as before");
}

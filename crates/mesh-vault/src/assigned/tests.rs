//! What cannot be read, or is gone for a moment, takes nothing away.

use serde_json::json;

use super::*;
use crate::credential::Origin;
use crate::fixture::{Machines, assignment, credential, key};

const GRACE: Duration = Duration::from_secs(30);
const ADMIN: &str = "cellar.notes.secret=2Eadmin";

fn entry(revision: u64, value: impl Into<Vec<u8>>) -> Entry {
    Entry { revision, value: value.into().into() }
}

fn good() -> Vec<u8> {
    let secrets = json!({"secrets": {"admin": {"length": 32, "alphabet": "hex"}}});
    serde_json::to_vec(&assignment("cellar", "notes", secrets)).unwrap()
}

fn bucket<const N: usize>(entries: [(&str, Entry); N]) -> BTreeMap<String, Entry> {
    entries.map(|(key, entry)| (key.to_owned(), entry)).into()
}

fn kept() -> Kept {
    [(key(ADMIN), vec![credential(ADMIN, 1, Origin::Own, &Machines::new(&["cellar"]).pins())])].into()
}

#[test]
fn the_last_good_one_stays_in_force() {
    let mut assigned = Assigned::default();
    let now = Instant::now();
    assigned.read(&bucket([("cellar.notes", entry(1, good()))]));
    let before = assigned.wanted(&kept(), GRACE, now);
    assert!(before.entries.contains_key(&key(ADMIN)));
    for (revision, wrong) in [(2, b"{".to_vec()), (3, of_version_2(good()))] {
        assigned.read(&bucket([("cellar.notes", entry(revision, wrong))]));
        assert_eq!(assigned.wanted(&kept(), GRACE, now).entries, before.entries);
    }
}

/// The same of a shape to come.
fn of_version_2(value: Vec<u8>) -> Vec<u8> {
    String::from_utf8(value).unwrap().replacen(r#""v":1"#, r#""v":2"#, 1).into_bytes()
}

#[test]
fn what_could_never_be_read_is_left_alone_for_ever() {
    let mut assigned = Assigned::default();
    let now = Instant::now();
    assigned.read(&bucket([("cellar.notes", entry(1, "?")), ("attic.wiki", entry(2, good()))]));
    let wanted = assigned.wanted(&kept(), GRACE, now + 10 * GRACE);
    assert!(wanted.entries.is_empty());
    assert_eq!(wanted.unsure, ["attic.wiki", "cellar.notes"].map(|text| text.parse().unwrap()).into());
}

#[test]
fn unwanted_counts_after_a_while() {
    let mut assigned = Assigned::default();
    let now = Instant::now();
    let other = serde_json::to_vec(&assignment("attic", "wiki", json!({}))).unwrap();
    assigned.read(&bucket([("attic.wiki", entry(1, other.clone()))]));
    assert!(!assigned.wanted(&kept(), GRACE, now).unsure.is_empty());
    assert!(!assigned.wanted(&kept(), GRACE, now + GRACE / 2).unsure.is_empty());
    assert!(assigned.wanted(&kept(), GRACE, now + GRACE).unsure.is_empty());
    // Wanted in between: the while begins anew.
    assigned.read(&bucket([("cellar.notes", entry(2, good()))]));
    assigned.wanted(&kept(), GRACE, now + GRACE);
    assigned.read(&bucket([("attic.wiki", entry(3, other))]));
    assert!(!assigned.wanted(&kept(), GRACE, now + GRACE).unsure.is_empty());
}

#[test]
fn an_empty_bucket_takes_nothing_away() {
    let mut assigned = Assigned::default();
    assigned.read(&bucket([]));
    assert!(!assigned.wanted(&kept(), GRACE, Instant::now() + 100 * GRACE).unsure.is_empty());
}

//! A node reaches what its modules need and provide, and nothing else.

use super::*;
use crate::fixture::plan;

fn reach(name: &str, rest: &str) -> NodeReach {
    node(&name.parse().unwrap(), &plan(rest).assignments)
}

fn keys(texts: &[&str]) -> BTreeSet<BoundKey> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn a_consumers_node_reaches_its_provider() {
    let cellar = reach("cellar", "assign: {store: attic, notes: cellar}\n");
    assert_eq!(cellar.providers, ["store".parse().unwrap()].into());
    assert_eq!(cellar.provides, []);
}

#[test]
fn a_provider_that_runs_once_answers_everybody() {
    let attic = reach("attic", "assign: {store: attic, notes: cellar}\n");
    assert!(attic.providers.is_empty());
    let [provides] = &attic.provides[..] else { panic!("{attic:?}") };
    assert_eq!((provides.module.as_str(), &provides.answers), ("store", &Answered::Everybody));
    assert_eq!(provides.provisions, ["database".parse().unwrap()].into());
}

#[test]
fn one_that_runs_twice_answers_its_own_consumers_on_each_node() {
    let rest = "assign: {store: [attic, shed], notes: [cellar, shed]}\n\
        bind: {notes@cellar.db: store@attic, notes@shed.db: store@shed}\n";
    let answers = |name| reach(name, rest).provides[0].answers.clone();
    assert_eq!(answers("attic"), Answered::Only(keys(&["cellar.notes.database.db"])));
    assert_eq!(answers("shed"), Answered::Only(keys(&["shed.notes.database.db"])));
    let all = answered(&plan(rest).assignments);
    assert_eq!(all["store"], keys(&["cellar.notes.database.db", "shed.notes.database.db"]));
}

#[test]
fn a_node_that_runs_nothing_reaches_nothing() {
    assert_eq!(reach("shed", "assign: {store: attic, notes: cellar}\n"), NodeReach::default());
}

#[test]
fn a_provider_without_consumers_has_its_bucket_all_the_same() {
    let assignments = plan("assign: {store: attic}\n").assignments;
    assert_eq!(providers(&assignments), ["store".parse().unwrap()].into());
    assert_eq!(answered(&assignments).len(), 1);
}

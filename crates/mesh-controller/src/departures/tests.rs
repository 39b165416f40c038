//! A provider and its consumers, in one plan and in none.

use mesh_model::digest::Digest;

use super::*;
use crate::desired::{Desired, Joined};
use crate::fixture::plan;
use crate::observed::Outcome;
use crate::steps::steps;

fn desired(rest: &str) -> Desired {
    Desired::of(Some(&plan(rest)), &Joined::default())
}

/// The bus of a mesh that is well.
fn well(rest: &str) -> Observed {
    let desired = desired(rest);
    let mut observed = Observed::default();
    steps(&desired, &observed).iter().for_each(|step| observed.note(step));
    observed.told.insert(Bucket::applied(), observed.assignments.keys().cloned().collect());
    observed
}

fn said(rest: &str) -> Said {
    desired(rest).said.unwrap()
}

fn words(said: &Said, observed: &Observed) -> Vec<String> {
    let word = |(key, departure): (String, Departure)| match departure {
        Departure::Stays(why) => why,
        Departure::Release => format!("release {key}"),
        Departure::Go => format!("go {key}"),
    };
    departures(said, observed).into_iter().map(word).collect()
}

/// What a node tells of an assignment.
fn tell(observed: &mut Observed, key: &str, digest: &Digest, state: AppliedState) {
    observed.applied.insert(key.to_owned(), Outcome { plan: digest.clone(), state });
}

const BOTH: &str = "assign: {store: attic, notes: [cellar, shed]}\n";

#[test]
fn a_provider_goes_after_its_consumers_and_once_it_has_let_them_go() {
    let mut observed = well(BOTH);
    let said = said("assign: {}\n");
    let cellar = "store@attic stays until its consumers are taken back: notes@cellar, notes@shed";
    assert_eq!(words(&said, &observed), [cellar, "go cellar.notes", "go shed.notes"]);
    assert_eq!(
        asked(&said, &observed).into_iter().collect::<Vec<_>>(),
        ["attic.store", "cellar.notes", "shed.notes"]
    );

    // Both are on their way out, and one of their nodes has taken it back.
    observed.assignments.retain(|key, _| key == "attic.store");
    observed.told.get_mut(&Bucket::applied()).unwrap().remove("shed.notes");
    assert_eq!(
        words(&said, &observed),
        ["store@attic stays until its consumers are taken back: notes@cellar"]
    );

    observed.told.get_mut(&Bucket::applied()).unwrap().remove("cellar.notes");
    assert_eq!(words(&said, &observed), ["release attic.store"]);

    // Released: what its node tells of the assignment before says nothing about that.
    let before = observed.assignments["attic.store"].digest.clone().unwrap();
    let released = Digest::of(b"released");
    let assigned = Assigned {
        digest: Some(released.clone()),
        plan: Some(said.plan.clone()),
        consumers: BTreeSet::new(),
    };
    observed.assignments.insert("attic.store".to_owned(), assigned);
    let stays = ["store@attic stays until its provisioner has taken back its consumers"];
    tell(&mut observed, "attic.store", &before, AppliedState::Applied);
    assert_eq!(words(&said, &observed), stays);
    tell(&mut observed, "attic.store", &released, AppliedState::Waiting);
    assert_eq!(words(&said, &observed), stays);
    tell(&mut observed, "attic.store", &released, AppliedState::Applied);
    assert_eq!(words(&said, &observed), ["go attic.store"]);
}

#[test]
fn whoever_is_gone_for_good_holds_up_nobody() {
    let mut observed = well(BOTH);
    observed.overdue.insert("attic.store".to_owned());
    let gone = ["go attic.store", "go cellar.notes", "go shed.notes"];
    assert_eq!(words(&said("assign: {}\n"), &observed), gone);
}

#[test]
fn a_consumer_that_stays_elsewhere_is_not_waited_for() {
    let observed = well(BOTH);
    let said = said("assign: {store: shed, notes: [cellar, shed]}\n");
    assert_eq!(words(&said, &observed), ["release attic.store"]);
}

#[test]
fn what_provides_to_nobody_goes_at_once() {
    let observed = well("assign: {store: attic}\n");
    let said = said("assign: {}\n");
    assert_eq!(words(&said, &observed), ["go attic.store"]);
    assert_eq!(asked(&said, &observed), BTreeSet::new());
}

#[test]
fn what_cannot_be_read_is_taken_back() {
    let mut observed = well(BOTH);
    observed.assignments.insert("attic.store".to_owned(), Assigned::of(b"torn"));
    observed.assignments.insert("odd".to_owned(), Assigned::default());
    let gone = ["go attic.store", "go cellar.notes", "go odd", "go shed.notes"];
    assert_eq!(words(&said("assign: {}\n"), &observed), gone);
}

//! With all guards nothing is broken; without any one of them, something is.

use std::collections::BTreeSet;

use stateright::{Checker, HasDiscoveries};

use super::*;

const LATE: &str = "no write of a former holder after one of the next";
const ONE: &str = "one holder a term";
const NEVER_TWO: &str = "never two that count the seat as theirs";

/// Some state breaks this promise.
fn breaks(guards: Guards, promise: &'static str) {
    let found = HasDiscoveries::AllOf(BTreeSet::from([promise]));
    let checker = guards.checker().finish_when(found).spawn_bfs().join();
    let steps = checker.discovery(promise).map(|path| path.into_actions().len());
    println!("{promise}: broken after {steps:?} steps, {} states", checker.unique_state_count());
    assert!(steps.is_some(), "what was left out is of no use: {guards:?}");
}

#[test]
fn with_all_guards_every_promise_holds() {
    let checker = Guards::ALL.checker().spawn_bfs().join();
    println!("{} states", checker.unique_state_count());
    checker.assert_properties();
}

#[test]
fn without_the_fence_a_former_holder_writes_late() {
    breaks(Guards { fence: false, ..Guards::ALL }, LATE);
}

#[test]
fn without_comparing_terms_a_former_holder_raises_its_fence_again() {
    breaks(Guards { raise_by_term: false, ..Guards::ALL }, LATE);
}

#[test]
fn without_comparing_revisions_two_take_the_seat() {
    breaks(Guards { take_by_revision: false, ..Guards::ALL }, ONE);
}

#[test]
fn without_comparing_revisions_a_former_holder_renews() {
    breaks(Guards { renew_by_revision: false, ..Guards::ALL }, NEVER_TWO);
}

#[test]
fn without_a_whole_wait_two_count_the_seat_as_theirs() {
    breaks(Guards { whole_wait: false, ..Guards::ALL }, NEVER_TWO);
}

#[test]
fn counted_from_the_answer_two_count_the_seat_as_theirs() {
    breaks(Guards { count_from_sending: false, ..Guards::ALL }, NEVER_TWO);
}

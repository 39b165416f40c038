//! Each reason for a step, and none for what serves.

use mesh_seal::SealingKey;
use proptest::prelude::*;

use super::*;
use crate::fixture::{Machines, credential, database, key, node, own, quickstart};

const DB: &str = "cellar.notes.db";
const SMTP: &str = "cellar.notes.secret=2Esmtp";
const SUPERUSER: &str = "attic.postgres.secret=2Esuperuser";

/// What there is once all that the quickstart wants was made, and set.
fn all_kept(wanted: &Wanted, pins: &Pins) -> Kept {
    let kept = |(key, what): (&CredentialKey, &What)| {
        let to = recipients(key, what, pins).unwrap();
        (key.clone(), vec![credential(&key.to_string(), 1, what.origin(), &to)])
    };
    wanted.entries.iter().map(kept).collect()
}

/// Each step in a line, as a case's expectation is written.
fn lines(steps: &[Step]) -> Vec<String> {
    let line = |step: &Step| match step {
        Step::Make { key, to, why, .. } => {
            let to: Vec<_> = to.keys().map(NodeName::as_str).collect();
            format!("make {key} for {}: {why}", to.join("+"))
        }
        Step::Drop { key, why } => format!("drop {key}: {why}"),
        Step::WaitForKey { key, node } => format!("wait {key}: key of {node}"),
        Step::WaitForOperator { key } => format!("wait {key}: operator"),
    };
    steps.iter().map(line).collect()
}

#[test]
fn from_nothing() {
    let machines = Machines::new(&["attic", "cellar"]);
    let steps = plan(&quickstart(), &Kept::new(), &machines.pins());
    assert_eq!(
        lines(&steps),
        [
            format!("make {SUPERUSER} for attic: there was none"),
            format!("make {DB} for attic+cellar: there was none"),
            format!("wait {SMTP}: operator"),
        ]
    );
}

#[test]
fn what_serves_is_left_alone() {
    let (wanted, pins) = (quickstart(), Machines::new(&["attic", "cellar"]).pins());
    assert_eq!(plan(&wanted, &all_kept(&wanted, &pins), &pins), []);
}

#[test]
fn a_longer_secret_is_no_reason_to_make_it_again() {
    let (mut wanted, pins) = (quickstart(), Machines::new(&["attic", "cellar"]).pins());
    let kept = all_kept(&wanted, &pins);
    let Some(What::Own(spec)) = wanted.entries.get_mut(&key(SUPERUSER)) else { panic!("it is its own") };
    spec.length = 64;
    assert_eq!(plan(&wanted, &kept, &pins), []);
}

#[test]
fn nodes_that_have_not_joined_are_waited_for() {
    let pins = Machines::new(&["attic"]).pins();
    let steps = plan(&quickstart(), &Kept::new(), &pins);
    assert_eq!(
        lines(&steps),
        [
            format!("make {SUPERUSER} for attic: there was none"),
            format!("wait {DB}: key of cellar"),
            format!("wait {SMTP}: key of cellar"),
        ]
    );
}

#[test]
fn another_key_remakes_all_that_the_node_takes_part_in() {
    let (wanted, mut pins) = (quickstart(), Machines::new(&["attic", "cellar"]).pins());
    let kept = all_kept(&wanted, &pins);
    pins.insert(node("cellar"), SealingKey::generate().public());
    assert_eq!(
        lines(&plan(&wanted, &kept, &pins)),
        [
            format!("make {DB} for attic+cellar: the sealing key of cellar changed"),
            format!("drop {SMTP}: the sealing key of cellar changed"),
            format!("wait {SMTP}: operator"),
        ]
    );
}

#[test]
fn a_node_that_is_taken_off_reads_nothing_any_more() {
    let (wanted, mut pins) = (quickstart(), Machines::new(&["attic", "cellar"]).pins());
    let kept = all_kept(&wanted, &pins);
    pins.remove(&node("attic"));
    assert_eq!(
        lines(&plan(&wanted, &kept, &pins)),
        [
            format!("drop {SUPERUSER}: attic was taken off"),
            format!("wait {SUPERUSER}: key of attic"),
            format!("drop {DB}: attic was taken off"),
            format!("wait {DB}: key of attic"),
        ]
    );
}

#[test]
fn another_origin_is_another_credential() {
    let (wanted, pins) = (quickstart(), Machines::new(&["attic", "cellar", "shed"]).pins());
    let kept = all_kept(&wanted, &pins);
    let changed = "it was made for another provider or of other fields";
    let cases = [
        (DB, database("postgres", "shed", &["password"]), format!("make {DB} for cellar+shed: {changed}")),
        (DB, database("mysql", "attic", &["password"]), format!("make {DB} for attic+cellar: {changed}")),
        (
            DB,
            database("postgres", "attic", &["password", "pin"]),
            format!("make {DB} for attic+cellar: {changed}"),
        ),
        (SMTP, own(), format!("make {SMTP} for cellar: {changed}")),
    ];
    for (name, what, expected) in cases {
        let mut wanted = wanted.clone();
        wanted.entries.insert(key(name), what);
        assert_eq!(lines(&plan(&wanted, &kept, &pins)), [expected]);
    }
}

#[test]
fn supplied_from_now_on() {
    let (mut wanted, pins) = (quickstart(), Machines::new(&["attic", "cellar"]).pins());
    let kept = all_kept(&wanted, &pins);
    wanted.entries.insert(key(SUPERUSER), What::Supplied);
    assert_eq!(
        lines(&plan(&wanted, &kept, &pins)),
        [
            format!("drop {SUPERUSER}: it was made for another provider or of other fields"),
            format!("wait {SUPERUSER}: operator"),
        ]
    );
}

#[test]
fn no_longer_wanted_is_dropped_unless_that_is_not_sure() {
    let (mut wanted, pins) = (quickstart(), Machines::new(&["attic", "cellar"]).pins());
    let kept = all_kept(&wanted, &pins);
    wanted.entries.remove(&key(DB));
    let dropped = [format!("drop {DB}: nothing that is assigned uses it")];
    assert_eq!(lines(&plan(&wanted, &kept, &pins)), dropped);
    wanted.unsure.insert("cellar.notes".parse().unwrap());
    assert_eq!(plan(&wanted, &kept, &pins), []);
}

proptest! {
    /// Whatever was wanted before and is wanted now: no step for what serves, one at most of each sort
    /// for the rest, and none for what is unsure.
    #[test]
    fn one_answer_a_key(before in 0usize..8, now in 0usize..8) {
        let pins = Machines::new(&["attic", "cellar"]).pins();
        let some = |mask: usize| {
            let chosen = quickstart().entries.into_iter().enumerate().filter(|(n, _)| mask & (1 << n) != 0);
            Wanted { entries: chosen.map(|(_, entry)| entry).collect(), ..Wanted::default() }
        };
        let (before, now) = (some(before), some(now));
        let kept = all_kept(&before, &pins);
        let steps = plan(&now, &kept, &pins);
        prop_assert!(steps.is_sorted_by(|a, b| a.key() < b.key()));
        for key in kept.keys().chain(now.entries.keys()) {
            let touched = steps.iter().any(|step| step.key() == key);
            prop_assert_eq!(touched, before.entries.contains_key(key) != now.entries.contains_key(key));
        }
    }
}

//! How long somebody may take.

use std::collections::BTreeSet;

use super::super::{Cause, Direction, Offer, RotationName, Terms, Turn};
use super::*;

fn node(name: &str) -> NodeName {
    name.parse().unwrap()
}

/// One consumer between two, which may fail for 10 seconds and take 60.
fn rotation() -> Rotation {
    let turn = Turn { number: 2, from: "old".into(), to: "new".into(), offer: Offer::Both };
    Rotation {
        id: "r1".into(),
        name: RotationName { module: "notes".parse().unwrap(), entry: "db".parse().unwrap() },
        cause: Cause::Asked,
        terms: Terms { at_once: 1, patience: 10, deadline: 60 },
        direction: Direction::Forward,
        state: State::Running,
        remaining: BTreeSet::new(),
        between: BTreeMap::from([(node("cellar"), turn)]),
        done: BTreeSet::new(),
    }
}

fn says(health: Health, refused: Option<&str>) -> Situation {
    let told =
        Told { turn: Some(2), credential: Some("old".into()), health, refused: refused.map(str::to_owned) };
    Situation { told: BTreeMap::from([(node("cellar"), told)]), ..Situation::default() }
}

/// At which second it is too much, looked at each second with what there is then.
fn too_much(rotation: &Rotation, at: impl Fn(u64) -> Situation) -> Option<(u64, String)> {
    let (mut watch, begin) = (Watch::default(), Instant::now());
    (0..200).find_map(|second| {
        let now = begin + Duration::from_secs(second);
        let overdue = watch.look(rotation, &at(second), now)?;
        Some((second, format!("{}: {}", overdue.at, overdue.why)))
    })
}

#[test]
fn failing_is_borne_for_a_while_and_silence_for_longer() {
    let failing = |_| says(Health::Failed("it ended with 1".into()), None);
    assert_eq!(too_much(&rotation(), failing), Some((10, "cellar: it is failed: it ended with 1".into())));
    let refused = |_| says(Health::Well, Some("no such role"));
    let why = "cellar: its provider does not accept the new one: no such role".to_owned();
    assert_eq!(too_much(&rotation(), refused), Some((10, why)));
    let silent = |_| Situation::default();
    assert_eq!(too_much(&rotation(), silent), Some((60, "cellar: its node has told nothing of it".into())));
}

#[test]
fn one_that_is_started_again_and_again_runs_out_of_time() {
    let looping = |second| match second % 2 {
        0 => says(Health::Failed("it ended with 1".into()), None),
        _ => says(Health::Waiting("it starts".into()), None),
    };
    assert_eq!(too_much(&rotation(), looping).unwrap().0, 10);
}

#[test]
fn who_is_well_again_has_all_the_time_again() {
    let well_at_eight = |second| match second {
        8 => says(Health::Well, None),
        _ => says(Health::Failed(String::new()), None),
    };
    assert_eq!(too_much(&rotation(), well_at_eight).unwrap().0, 19);
}

#[test]
fn one_that_has_the_new_one_may_not_fail_either_while_others_are_to_come() {
    let mut rotation = rotation();
    rotation.between.clear();
    rotation.done.insert(node("cellar"));
    let failing = |_| says(Health::Failed("it ended with 1".into()), None);
    assert_eq!(too_much(&rotation, failing), None, "nobody is to come");
    rotation.remaining.insert(node("shed"));
    let why = "cellar: it has the new one and is not well: it ended with 1".to_owned();
    assert_eq!(too_much(&rotation, failing), Some((10, why)));
}

#[test]
fn what_has_stopped_is_not_timed() {
    let stopped = State::Stopped(Stopped { at: node("cellar"), why: String::new() });
    let rotation = Rotation { state: stopped, ..rotation() };
    assert_eq!(too_much(&rotation, |_| Situation::default()), None);
}

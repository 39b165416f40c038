//! Each guard, and what it keeps from happening. The whole, with everybody crashing, is the model's.

use super::super::{Cause, Fresh, RotationName, Terms};
use super::*;

fn node(name: &str) -> NodeName {
    name.parse().unwrap()
}

fn rotation(nodes: &[&str], at_once: u16) -> Rotation {
    Rotation {
        id: "r1".into(),
        name: RotationName { module: "notes".parse().unwrap(), entry: "db".parse().unwrap() },
        cause: Cause::Asked,
        terms: Terms { at_once, patience: 1, deadline: 1 },
        direction: Direction::Forward,
        state: State::Running,
        remaining: nodes.iter().map(|name| node(name)).collect(),
        between: BTreeMap::new(),
        done: BTreeSet::new(),
    }
}

/// What there is: for each node its live ones, `old` at first.
fn situation(nodes: &[&str]) -> Situation {
    Situation {
        wanted: nodes.iter().map(|name| node(name)).collect(),
        live: nodes.iter().map(|name| (node(name), BTreeSet::from(["old".to_owned()]))).collect(),
        ..Situation::default()
    }
}

fn told(turn: u64, credential: &str, health: Health) -> Told {
    Told { turn: Some(turn), credential: Some(credential.to_owned()), health, refused: None }
}

/// Takes a step as the vault does: the new ones are called `new`, the numbers go up.
fn take(rotation: &mut Rotation, situation: &mut Situation, step: &Step, number: u64) {
    *rotation = rotation.after(step, &Fresh { number, id: "new".into() });
    match step {
        Step::Begin { node, .. } => drop(situation.live.get_mut(node).unwrap().insert("new".into())),
        Step::Retire { node, id } => drop(situation.live.get_mut(node).unwrap().remove(id)),
        _ => {}
    }
}

fn begun(nodes: &[&str]) -> (Rotation, Situation) {
    let (mut rotation, mut situation) = (rotation(nodes, 1), situation(nodes));
    let step = next(&rotation, &situation).unwrap();
    take(&mut rotation, &mut situation, &step, 2);
    (rotation, situation)
}

#[test]
fn begun_narrowed_retired_and_over() {
    let (mut rotation, mut situation) = (rotation(&["cellar"], 1), situation(&["cellar"]));
    let cellar = node("cellar");
    let mut taken = Vec::new();
    for number in 2..10 {
        let Some(step) = next(&rotation, &situation) else { break };
        take(&mut rotation, &mut situation, &step, number);
        let turn = rotation.between.get(&cellar).map_or(0, |turn| turn.number);
        situation.told.insert(cellar.clone(), told(turn, "new", Health::Well));
        taken.push(step);
    }
    let [begin, narrow, retire, finish] = &taken[..] else { panic!("{taken:?}") };
    assert!(matches!(begin, Step::Begin { from, .. } if from == "old"));
    assert!(matches!(narrow, Step::Narrow { .. }));
    assert!(matches!(retire, Step::Retire { id, .. } if id == "old"));
    assert_eq!(*finish, Step::Finish);
    assert!(rotation.is_over() && rotation.done.contains(&cellar));
}

#[test]
fn nothing_is_left_before_it_is_taken_up_in_answer_to_this_offer() {
    let (rotation, situation) = begun(&["cellar"]);
    let after = |said: Option<Told>| {
        let mut situation = situation.clone();
        situation.told.extend(said.map(|said| (node("cellar"), said)));
        next(&rotation, &situation)
    };
    assert_eq!(after(None), None);
    assert_eq!(after(Some(told(2, "old", Health::Well))), None, "it runs with the old one");
    assert_eq!(after(Some(told(1, "new", Health::Well))), None, "it answers to another offer");
    assert_eq!(after(Some(told(2, "new", Health::Waiting(String::new())))), None, "it is on its way");
    assert_eq!(after(Some(told(2, "new", Health::Failed(String::new())))), None, "it is not well");
    assert_eq!(after(Some(told(2, "new", Health::Well))), Some(Step::Narrow { node: node("cellar") }));
}

#[test]
fn what_was_said_of_the_wide_offer_does_not_retire() {
    let (mut rotation, mut situation) = begun(&["cellar"]);
    situation.told.insert(node("cellar"), told(2, "new", Health::Well));
    let step = next(&rotation, &situation).unwrap();
    take(&mut rotation, &mut situation, &step, 3);
    assert_eq!(next(&rotation, &situation), None);
    situation.told.insert(node("cellar"), told(3, "new", Health::Well));
    assert_eq!(next(&rotation, &situation), Some(Step::Retire { node: node("cellar"), id: "old".into() }));
}

#[test]
fn no_more_at_once_than_it_may() {
    for at_once in 0..4 {
        let nodes = ["a", "b", "c", "d"];
        let (mut rotation, mut situation) = (rotation(&nodes, at_once), situation(&nodes));
        while let Some(step) = next(&rotation, &situation) {
            take(&mut rotation, &mut situation, &step, 2);
        }
        assert_eq!(rotation.between.len(), usize::from(at_once.max(1)), "{at_once}");
    }
}

#[test]
fn the_next_waits_until_the_last_is_well() {
    let (mut rotation, situation) = (rotation(&["b"], 1), situation(&["a", "b"]));
    rotation.done.insert(node("a"));
    let after = |health: Option<Health>| {
        let mut situation = situation.clone();
        situation.told.extend(health.map(|health| (node("a"), told(9, "new", health))));
        next(&rotation, &situation)
    };
    assert_eq!(after(None), None);
    assert_eq!(after(Some(Health::Failed(String::new()))), None);
    assert_eq!(after(Some(Health::Waiting(String::new()))), None);
    assert_eq!(after(Some(Health::Well)), Some(Step::Begin { node: node("b"), from: "old".into() }));
}

#[test]
fn what_takes_too_long_stops_it_and_nothing_more_is_done() {
    let (mut rotation, mut situation) = begun(&["a", "b"]);
    let stopped = Stopped { at: node("a"), why: "it is failed".into() };
    situation.overdue = Some(stopped.clone());
    let step = next(&rotation, &situation).unwrap();
    assert_eq!(step, Step::Stop(stopped));
    take(&mut rotation, &mut situation, &step, 3);
    situation.told.insert(node("a"), told(2, "new", Health::Well));
    assert_eq!(next(&rotation, &situation), None, "an operator decides");
    situation.overdue = None;
    assert_eq!(next(&rotation.resumed(), &situation), Some(Step::Narrow { node: node("a") }));
}

#[test]
fn given_up_who_is_between_goes_back_and_nobody_else_is_begun() {
    let (rotation, mut situation) = begun(&["a", "b"]);
    let mut back = rotation.abandoned(|_| 5);
    let a = node("a");
    assert_eq!(
        back.between[&a],
        Turn { number: 5, from: "new".into(), to: "old".into(), offer: Offer::Both }
    );
    // What it said before it was given up counts for nothing, though it is what is wanted now.
    situation.told.insert(a.clone(), told(2, "old", Health::Well));
    assert_eq!(next(&back, &situation), None);
    let mut taken = Vec::new();
    for number in 6..12 {
        let turn = back.between.get(&a).map_or(0, |turn| turn.number);
        situation.told.insert(a.clone(), told(turn, "old", Health::Well));
        let Some(step) = next(&back, &situation) else { break };
        take(&mut back, &mut situation, &step, number);
        taken.push(step);
    }
    let retire = Step::Retire { node: a.clone(), id: "new".into() };
    assert_eq!(taken, [Step::Narrow { node: a.clone() }, retire, Step::Finish]);
    assert_eq!(back.remaining, [a, node("b")].into(), "both have what they had");
    assert_eq!(rotation.abandoned(|_| 5).abandoned(|_| 9), rotation.abandoned(|_| 5), "twice is once");
}

#[test]
fn who_is_no_longer_wanted_or_was_made_anew_is_left_out() {
    let (rotation, situation) = begun(&["a", "b"]);
    let after = |change: fn(&mut Situation)| {
        let mut situation = situation.clone();
        change(&mut situation);
        next(&rotation, &situation)
    };
    let left = |name: &str| Some(Step::Leave { node: node(name) });
    assert_eq!(after(|now| now.wanted.retain(|one| *one != node("b"))), left("b"));
    assert_eq!(after(|now| drop(now.live.remove(&node("b")))), left("b"));
    assert_eq!(
        after(|now| now.wanted.retain(|one| *one != node("a"))),
        None,
        "as long as both are live, it is between"
    );
    assert_eq!(after(|now| drop(now.live.remove(&node("a")))), left("a"));
    let anew = |now: &mut Situation| drop(now.live.insert(node("a"), BTreeSet::from(["newer".to_owned()])));
    assert_eq!(after(anew), left("a"));
}

//! A crash at any step, then a rerun, comes to the same as no crash; and at no moment is anything there before what it needs.

use std::collections::BTreeSet;
use std::sync::Mutex;

use mesh_bus::Bucket;
use mesh_model::key::ModuleKey;
use mesh_model::wire::{AppliedState, Assignment, Config};

use super::*;
use crate::desired::Said;
use crate::fixture::plan;
use crate::observed::{Departing, Outcome};

/// A bus in memory that fails at one step, and after it.
struct Memory {
    says: Mutex<Observed>,
    /// The keys that the plan has.
    stays: BTreeSet<String>,
    fails_at: usize,
    taken: Mutex<usize>,
}

impl Memory {
    fn new(says: Observed, desired: &Desired, fails_at: usize) -> Self {
        let stays = desired.said.as_ref().unwrap().assignments.keys().map(ToString::to_string).collect();
        Self { says: Mutex::new(says), stays, fails_at, taken: Mutex::new(0) }
    }

    fn says(self) -> Observed {
        self.says.into_inner().unwrap()
    }
}

impl World for Memory {
    async fn look(&self) -> Result<Observed, WorldError> {
        Ok(self.says.lock().unwrap().clone())
    }

    async fn take(&self, step: &Step) -> Result<(), WorldError> {
        let mut taken = self.taken.lock().unwrap();
        *taken += 1;
        if *taken > self.fails_at {
            let key = String::new();
            return Err(mesh_bus::kv::KvError::Key { bucket: String::new(), key }.into());
        }
        let mut says = self.says.lock().unwrap();
        check(step, &says, &self.stays);
        says.note(step);
        Ok(())
    }

    async fn look_at(&self, keys: &BTreeSet<String>) -> Result<Departing, WorldError> {
        let says = self.says.lock().unwrap();
        let one = |key: &String| {
            (key.clone(), (says.assignments.get(key).cloned(), says.applied.get(key).cloned()))
        };
        Ok(keys.iter().map(one).collect())
    }

    async fn distrust(&self) {}
}

/// What the nodes make of what the bus says: they do it, and tell.
fn machines(says: &mut Observed) {
    let mut applied = BTreeMap::new();
    for (key, assigned) in &mut says.assignments {
        // What was released has a digest of its own.
        let digest = assigned.digest.get_or_insert_with(|| Digest::of(b"released")).clone();
        applied.insert(key.clone(), Outcome { plan: digest, state: AppliedState::Applied });
    }
    says.told.insert(Bucket::applied(), applied.keys().cloned().collect());
    says.applied = applied;
}

/// Passes, and nodes that do what they are told, until nothing is left to do.
async fn settle(world: &Memory, desired: &Desired, observed: &mut Observed) -> Result<(), WorldError> {
    for _ in 0..10 {
        let asked = crate::departures::asked(desired.said.as_ref().unwrap(), observed);
        observed.learn(world.look_at(&asked).await?);
        converge(world, desired, observed).await?;
        machines(&mut world.says.lock().unwrap());
        let going = crate::departures::departures(desired.said.as_ref().unwrap(), observed);
        if steps(desired, observed).is_empty() && going.is_empty() {
            return Ok(());
        }
    }
    panic!("it does not settle: {:?}", steps(desired, observed));
}

/// What an assignment needs is there before it; and nobody is left behind who was let in.
fn check(step: &Step, says: &Observed, stays: &BTreeSet<String>) {
    if let Step::Release { key, .. } | Step::Unassign(key) = step {
        let told = says.told.get(&Bucket::applied()).cloned().unwrap_or_default();
        let gone = |one: &ModuleKey| {
            let one = one.to_string();
            stays.contains(&one) || !told.contains(&one) && !says.assignments.contains_key(&one)
        };
        let consumers = &says.assignments[key].consumers;
        assert!(consumers.iter().all(gone), "{key} before its consumers: {consumers:?}");
        let done = |outcome: &Outcome| Some(&outcome.plan) == says.assignments[key].digest.as_ref();
        let released = matches!(step, Step::Release { .. });
        assert!(released || consumers.is_empty(), "{key} with its consumers: {consumers:?}");
        assert!(released || says.applied.get(key).is_none_or(done), "{key} before it has let them go");
    }
    let Step::Assign { key, bytes, .. } = step else { return };
    let assignment: Assignment = serde_json::from_slice(bytes).unwrap();
    assert!(says.settings.contains_key(&key.to_string()), "{key} before its settings");
    assert!(
        assignment.files.values().all(|file| says.contents.contains(&file.digest)),
        "{key} before its files"
    );
    if !assignment.provides.is_empty() {
        assert!(says.buckets.contains(&assignment.module), "{key} before its bucket");
    }
    let account = mesh_bus::Account::Node(key.node.clone());
    let has = &says.granted[&account];
    for need in &assignment.needs {
        let read = mesh_bus::grants::Right::Get(
            mesh_bus::Bucket::bound(&need.from.module),
            format!("{}.>", key.node),
        );
        assert!(has.contains(&read), "{key} before its rights");
    }
}

fn desired(rest: &str) -> Desired {
    let nodes = ["attic", "cellar", "shed"].map(|name| name.parse().unwrap());
    let joined = Joined { nodes: nodes.into(), operators: ["ada".parse().unwrap()].into() };
    Desired::of(Some(&plan(rest)), &joined)
}

/// All that follows from a plan, and nothing else.
fn says_exactly(said: &Said, observed: &Observed) {
    let keys = |keys: Vec<String>, wanted: Vec<String>| assert_eq!(keys, wanted);
    keys(
        observed.assignments.keys().cloned().collect(),
        said.assignments.keys().map(ToString::to_string).collect(),
    );
    keys(
        observed.settings.keys().cloned().collect(),
        said.settings.keys().map(ToString::to_string).collect(),
    );
}

#[tokio::test]
async fn a_crash_at_any_step_then_a_rerun_converges() {
    let plans = [
        "assign: {store: attic, notes: cellar}\n",
        "assign: {store: attic, notes: [cellar, shed]}\nconfig: {notes: {title: Ours}}\n",
        "assign: {store: shed, notes: attic}\n",
        "assign: {store: shed}\n",
    ];
    let mut before = Observed::default();
    for rest in plans {
        let desired = desired(rest);
        let whole = steps(&desired, &before).len();
        for fails_at in 0..whole {
            let world = Memory::new(before.clone(), &desired, fails_at);
            let mut observed = world.look().await.unwrap();
            converge(&world, &desired, &mut observed).await.unwrap_err();
            let left = world.says();
            assert_eq!(left, observed, "what was taken is noted, and nothing else");
            // A new process does not know what was granted before it, and grants all of it again.
            for forgets in [true, false] {
                let mut left = left.clone();
                if forgets {
                    left.granted.clear();
                }
                let world = Memory::new(left, &desired, usize::MAX);
                let mut observed = world.look().await.unwrap();
                settle(&world, &desired, &mut observed).await.unwrap();
                says_exactly(desired.said.as_ref().unwrap(), &observed);
            }
        }
        let world = Memory::new(before.clone(), &desired, usize::MAX);
        settle(&world, &desired, &mut before).await.unwrap();
        before = world.says();
    }
}

/// A crash before any step on the way, however many passes that takes: what goes, goes in order all the same.
#[tokio::test]
async fn who_goes_goes_in_order_whenever_there_is_a_crash() {
    let both = desired("assign: {store: attic, notes: [cellar, shed]}\n");
    let mut before = Observed::default();
    let world = Memory::new(before.clone(), &both, usize::MAX);
    settle(&world, &both, &mut before).await.unwrap();
    let before = world.says();
    let neither = desired("assign: {}\n");
    for fails_at in 0.. {
        let world = Memory::new(before.clone(), &neither, fails_at);
        let mut observed = world.look().await.unwrap();
        let ended = settle(&world, &neither, &mut observed).await;
        let left = world.says();
        let world = Memory::new(left.clone(), &neither, usize::MAX);
        let mut observed = left;
        settle(&world, &neither, &mut observed).await.unwrap();
        assert_eq!(observed.assignments, BTreeMap::new());
        if ended.is_ok() {
            assert!(fails_at > 6, "{fails_at}");
            return;
        }
    }
}

#[test]
fn settings_are_written_as_the_assignment_names_them() {
    let desired = desired("assign: {store: attic, notes: cellar}\n");
    let said = desired.said.unwrap();
    for (key, value) in &said.assignments {
        let assignment: Assignment = serde_json::from_slice(&value.bytes).unwrap();
        let config: Config = serde_json::from_slice(&said.settings[key].bytes).unwrap();
        assert_eq!((assignment.settings, assignment.digest), (config.digest(), value.digest.clone()));
    }
}

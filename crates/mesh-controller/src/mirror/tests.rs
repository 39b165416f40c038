//! A crash at any step, then a rerun, comes to the same as no crash; and at no moment is anything there before what it needs.

use std::sync::Mutex;

use mesh_model::wire::{Assignment, Config};

use super::*;
use crate::desired::Said;
use crate::fixture::plan;

/// A bus in memory that fails at one step, and after it.
struct Memory {
    says: Mutex<Observed>,
    fails_at: usize,
    taken: Mutex<usize>,
}

impl Memory {
    fn new(says: Observed, fails_at: usize) -> Self {
        Self { says: Mutex::new(says), fails_at, taken: Mutex::new(0) }
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
        check(step, &says);
        says.note(step);
        Ok(())
    }

    async fn distrust(&self) {}
}

/// What an assignment needs is there before it.
fn check(step: &Step, says: &Observed) {
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
            let world = Memory::new(before.clone(), fails_at);
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
                let world = Memory::new(left, usize::MAX);
                let mut observed = world.look().await.unwrap();
                converge(&world, &desired, &mut observed).await.unwrap();
                assert_eq!(steps(&desired, &world.says()), []);
                says_exactly(desired.said.as_ref().unwrap(), &observed);
            }
        }
        let world = Memory::new(before.clone(), usize::MAX);
        converge(&world, &desired, &mut before).await.unwrap();
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

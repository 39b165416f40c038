//! Nothing is done that need not be, and nothing before what it needs.

use super::*;
use crate::desired::Joined;
use crate::fixture::plan;

fn joined() -> Joined {
    let nodes = ["attic", "cellar", "shed"].map(|name| name.parse().unwrap());
    Joined { nodes: nodes.into(), operators: ["ada".parse().unwrap()].into() }
}

fn desired(rest: &str) -> Desired {
    Desired::of(Some(&plan(rest)), &joined())
}

/// What the bus says after all steps.
fn after(desired: &Desired, mut observed: Observed) -> Observed {
    steps(desired, &observed).iter().for_each(|step| observed.note(step));
    observed
}

fn words(steps: &[Step]) -> Vec<String> {
    let word = |step: &Step| match step {
        Step::Keep { .. } => "keep".to_owned(),
        Step::Make(provider) => format!("make {provider}"),
        Step::Widen(grants) => format!("widen {}", grants.account),
        Step::Set { key, .. } => format!("set {key}"),
        Step::Assign { key, .. } => format!("assign {key}"),
        Step::Release { key, .. } => format!("release {key}"),
        Step::Unassign(key) => format!("unassign {key}"),
        Step::Unset(key) => format!("unset {key}"),
        Step::Prune(bucket, key) => format!("prune {bucket} {key}"),
        Step::Narrow(grants) => format!("narrow {}", grants.account),
    };
    steps.iter().map(word).collect()
}

const BOTH: &str = "assign: {store: attic, notes: cellar}\n";
const TITLED: &str = "assign: {store: attic, notes: cellar}\nconfig: {notes: {title: Ours}}\n";
const MOVED: &str = "assign: {store: attic, notes: shed}\n";

#[test]
fn a_first_plan_is_mirrored_in_order() {
    let steps = words(&steps(&desired(BOTH), &Observed::default()));
    let want = [
        "keep",
        "keep",
        "make store",
        "widen attic",
        "widen cellar",
        "widen shed",
        "widen operator=ada",
        "set attic.store",
        "set cellar.notes",
        "assign attic.store",
        "assign cellar.notes",
    ];
    assert_eq!(steps, want);
}

#[test]
fn what_is_as_it_should_be_is_left_alone() {
    for rest in [BOTH, TITLED, MOVED] {
        let desired = desired(rest);
        assert_eq!(steps(&desired, &after(&desired, Observed::default())), []);
    }
}

#[test]
fn a_changed_setting_costs_two_writes() {
    let observed = after(&desired(BOTH), Observed::default());
    assert_eq!(words(&steps(&desired(TITLED), &observed)), ["set cellar.notes", "assign cellar.notes"]);
}

#[test]
fn rights_are_widened_before_and_narrowed_after() {
    let observed = after(&desired(BOTH), Observed::default());
    let want = [
        "widen shed",
        "set shed.notes",
        "assign attic.store",
        "assign shed.notes",
        "unassign cellar.notes",
        "unset cellar.notes",
        "narrow cellar",
    ];
    assert_eq!(words(&steps(&desired(MOVED), &observed)), want);
}

#[test]
fn without_a_plan_nothing_is_touched_but_accounts() {
    let mut observed = after(&desired(BOTH), Observed::default());
    observed.told.insert(Bucket::needs(), ["cellar.notes.config.title".to_owned()].into());
    let nothing = Desired::of(None, &joined());
    let steps = words(&steps(&nothing, &observed));
    assert!(steps.iter().all(|step| step.starts_with("narrow")), "{steps:?}");
}

#[test]
fn what_no_plan_knows_is_pruned() {
    let desired = desired(BOTH);
    let mut observed = after(&desired, Observed::default());
    let told = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
    observed.told.insert(Bucket::needs(), told(&["attic.x", "barn.notes.config.title", "shed.notes.x.y"]));
    let bound = Bucket::bound(&"store".parse().unwrap());
    observed.told.insert(bound, told(&["cellar.notes.database.db", "shed.notes.database.db", "odd"]));
    observed.told.insert(Bucket::bound(&"gone".parse().unwrap()), told(&["cellar.notes.database.db"]));
    let want = [
        "prune gone_bound cellar.notes.database.db",
        "prune mesh-provisioner_needs barn.notes.config.title",
        "prune store_bound odd",
        "prune store_bound shed.notes.database.db",
    ];
    assert_eq!(words(&steps(&desired, &observed)), want);
}

//! Steps: none where all is as it should be, and never one that takes what is not ours.

use mesh_provider::Consumers;

use super::*;

fn desired(consumers: &[(&str, &str)]) -> Desired {
    let one = |(module, bucket): &(&str, &str)| {
        serde_json::json!({"node":"cellar","module":module,"local":"files","machine":{"name":"cellar","address":"10.0.0.2"},
            "contribution":{"name":bucket},"revision":"r","credentials":[{"id":"c1","secrets":{"secret_key":"sesame"}}]})
    };
    let consumers: Vec<_> = consumers.iter().map(one).collect();
    let file = serde_json::json!({"v":1,"provision":"s3-bucket","provider":{"node":"attic","module":"object-store"},
        "consumers":consumers});
    Desired::of(&Consumers::parse("consumers.json".as_ref(), file.to_string().as_bytes()).unwrap())
}

/// The store after all steps were taken.
fn after(plan: Plan, mut observed: Observed) -> Observed {
    plan.drop.iter().for_each(|user| drop(observed.users.remove(user)));
    observed.users.extend(plan.claim.into_iter().map(|(_, mark)| (mark, User::default())));
    observed.buckets.extend(plan.make);
    observed.users.extend(plan.put.into_iter().map(|(name, user, _)| (name, user)));
    observed
}

fn is_empty(plan: &Plan) -> bool {
    plan.drop.is_empty() && plan.claim.is_empty() && plan.make.is_empty() && plan.put.is_empty()
}

#[test]
fn after_all_steps_there_are_none() {
    let wanted = desired(&[("notes", "notes"), ("wiki", "wiki-files")]);
    let store = after(plan(&wanted, &Observed::default()), Observed::default());
    assert!(is_empty(&plan(&wanted, &store)));
}

#[test]
fn a_run_that_stopped_between_a_mark_and_its_bucket_goes_on() {
    let wanted = desired(&[("notes", "notes")]);
    let mut store = after(plan(&wanted, &Observed::default()), Observed::default());
    store.buckets.clear();
    let steps = plan(&wanted, &store);
    assert!(steps.refused.is_empty() && steps.claim.is_empty());
    assert_eq!(steps.make.len(), 1);
}

#[test]
fn who_is_withdrawn_is_dropped_and_its_mark_stays() {
    let store = after(plan(&desired(&[("notes", "notes")]), &Observed::default()), Observed::default());
    let steps = plan(&desired(&[]), &store);
    assert_eq!(steps.drop.len(), 1);
    let left = after(steps, store);
    assert_eq!(left.users.len(), 1, "the mark");
    let steps = plan(&desired(&[("wiki", "notes")]), &left);
    assert!(steps.refused.values().any(|why| why.contains("module `notes`'s")), "{:?}", steps.refused);
}

#[test]
fn what_somebody_altered_by_hand_is_put_right() {
    let wanted = desired(&[("notes", "notes")]);
    let altered = |alter: fn(&mut User)| {
        let mut store = after(plan(&wanted, &Observed::default()), Observed::default());
        store.users.iter_mut().filter(|(name, _)| name.marks().is_none()).for_each(|(_, user)| alter(user));
        plan(&wanted, &store).put.len()
    };
    assert_eq!(altered(|_| ()), 0);
    assert_eq!(altered(|user| user.actions.extend(["Admin".to_owned()])), 1);
    assert_eq!(altered(|user| user.keys.clear()), 1);
    assert_eq!(altered(|user| user.altered = true), 1);
    assert_eq!(
        altered(|user| user.keys.values_mut().for_each(|key| *key = Secret::new(b"other".to_vec()))),
        1
    );
}

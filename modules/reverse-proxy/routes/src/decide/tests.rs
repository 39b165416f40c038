//! Who gets which name.

use std::path::Path;

use super::*;

type Before = HashMap<(HostName, PathPrefix), ModuleName>;

/// A consumers file of `module@node name[/path]` lines.
fn consumers(lines: &[&str]) -> Consumers {
    let entry = |line: &&str| {
        let (who, what) = line.split_once(' ').unwrap();
        let (module, node) = who.split_once('@').unwrap();
        let (name, path) = what.find('/').map_or((what, "/"), |at| what.split_at(at));
        serde_json::json!({
            "node": node, "module": module, "local": "web", "machine": {"name": node, "address": "10.0.0.1"},
            "contribution": {"name": name, "path": path, "port": 80}, "revision": line,
        })
    };
    let file = serde_json::json!({
        "v": 1, "provision": "route", "provider": {"node": "attic", "module": "reverse-proxy"},
        "consumers": lines.iter().map(entry).collect::<Vec<_>>(),
    });
    Consumers::parse(Path::new("consumers.json"), file.to_string().as_bytes()).unwrap()
}

/// What is served, and what is said to whom.
fn decided(lines: &[&str], before: &Before) -> (Vec<String>, Vec<String>) {
    let Routes { routes, refused } = decide(&consumers(lines), before);
    let nodes = |route: &Route| -> Vec<String> {
        route.targets.iter().map(|target| target.consumer.node.to_string()).collect()
    };
    let mut served: Vec<String> = routes
        .iter()
        .map(|route| format!("{}{} {}@{}", route.name, route.path, route.module, nodes(route).join("+")))
        .collect();
    let mut told: Vec<String> = refused.iter().map(|r| format!("{}: {}", r.consumer, r.why)).collect();
    served.sort();
    told.sort();
    (served, told)
}

#[test]
fn a_module_on_two_nodes_is_two_targets_of_one_route() {
    let (served, told) =
        decided(&["notes@a n.org", "wiki@a w.org", "notes@b n.org", "api@a n.org/api"], &Before::new());
    assert_eq!(served, ["n.org/ notes@a+b", "n.org/api api@a", "w.org/ wiki@a"]);
    assert_eq!(told, [""; 0]);
}

#[test]
fn whoever_has_a_name_keeps_it() {
    let key = ("n.org".parse().unwrap(), PathPrefix::root());
    let before = Before::from([(key, "wiki".parse().unwrap())]);
    let (served, told) = decided(&["notes@a n.org", "notes@b n.org", "wiki@a n.org"], &before);
    assert_eq!(served, ["n.org/ wiki@a"]);
    let why = "the name `n.org` is taken by `wiki`: give one of the two another name, or another path";
    assert_eq!(told, [format!("web of notes@a: {why}"), format!("web of notes@b: {why}")]);
}

#[test]
fn a_name_that_nobody_had_is_given_to_none_of_two() {
    let lines = ["notes@a n.org/x", "wiki@a n.org/x", "blog@a n.org"];
    let (served, told) = decided(&lines, &Before::new());
    assert_eq!(served, ["n.org/ blog@a"]);
    assert_eq!(
        told,
        [
            "web of notes@a: the name `n.org/x` is also asked for by `wiki`, and none of them had it before: give it to one of them",
            "web of wiki@a: the name `n.org/x` is also asked for by `notes`, and none of them had it before: give it to one of them",
        ]
    );
    // In whatever order.
    let turned: Vec<&str> = lines.into_iter().rev().collect();
    assert_eq!(decided(&turned, &Before::new()), (served, told));
}

#[test]
fn one_harms_no_other() {
    let (served, told) = decided(&["notes@a n.org", "wiki@a w org"], &Before::new());
    assert_eq!(served, ["n.org/ notes@a"]);
    assert_eq!(told.len(), 1);
}

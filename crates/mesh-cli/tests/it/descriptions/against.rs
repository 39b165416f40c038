//! `mesh plan --against`: what a description would change of a plan of before.

use std::path::Path;

use tempfile::TempDir;

use super::HOME;
use crate::program::{Ran, fits, folder, mesh, put};

/// A home that has been planned, with that plan in `before.json` in it.
fn planned() -> TempDir {
    let home = folder(HOME);
    put(&home.path().join("before.json"), &mesh(home.path(), "plan --format json").done());
    home
}

fn mesh_yaml(home: &Path, assign: &str, config: &str) {
    let nodes = "{attic: {address: 127.0.0.1}, cellar: {address: 127.0.0.1}}";
    put(
        &home.join("mesh.yaml"),
        &format!("mesh: home\nnodes: {nodes}\nassign: {assign}\nconfig: {config}\n"),
    );
}

fn against(home: &TempDir) -> Ran {
    let ran = mesh(home.path(), "plan --against before.json --exit-code");
    fits(&ran.out);
    ran
}

#[test]
fn the_same_again_changes_nothing() {
    insta::assert_snapshot!("the_same", against(&planned()));
}

#[test]
fn a_manifest_that_says_something_else_is_told_by_what_it_touches() {
    let home = planned();
    let path = home.path().join("modules/notes/module.yaml");
    let manifest = std::fs::read_to_string(&path).unwrap();
    let manifest = manifest.replace("smtp = ", "mail = ").replace("session: {}", "session: {length: 64}");
    put(&path, &manifest);
    insta::assert_snapshot!("a_manifest", against(&home));
}

#[test]
fn one_more_module_moves_no_other() {
    let home = planned();
    std::fs::create_dir(home.path().join("modules/first")).unwrap();
    put(&home.path().join("modules/first/module.yaml"), "module: first\nports: {http: auto}\n");
    mesh_yaml(home.path(), "{first: attic, postgres: attic, notes: [attic, cellar]}", "{}");
    insta::assert_snapshot!("one_more", against(&home));
}

#[test]
fn a_provider_and_its_consumers_go_in_one_apply_consumers_first() {
    let home = planned();
    mesh_yaml(home.path(), "{}", "{}");
    insta::assert_snapshot!("gone_together", against(&home));
    let plan = mesh(home.path(), "plan --against before.json --format json").json();
    let order: Vec<&str> =
        plan["changes"].as_array().unwrap().iter().map(|change| change["module"].as_str().unwrap()).collect();
    assert_eq!(order, ["notes", "notes", "postgres"]);
}

#[test]
fn a_provider_does_not_go_before_its_consumers() {
    let home = planned();
    mesh_yaml(home.path(), "{notes: [attic, cellar]}", "{}");
    let ran = against(&home);
    assert_eq!((ran.exit, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("refused[no-provider]") && ran.err.contains("`notes` needs"), "{ran}");
}

#[test]
fn what_is_no_plan_is_not_compared_with() {
    let home = planned();
    put(&home.path().join("before.json"), "{\"ok\": false, \"refusals\": []}");
    insta::assert_snapshot!("no_plan", against(&home));
    put(&home.path().join("before.json"), "mesh: home\n");
    insta::assert_snapshot!("no_json", against(&home));
    assert_eq!(mesh(home.path(), "plan --against nowhere.json").exit, 1);
    assert_eq!(mesh(home.path(), "plan --against before.json --state .mesh").exit, 2);
}

//! Each rule finds what breaks it, and this checkout breaks none.

use super::*;

fn broken(rule: fn(&Tree) -> Vec<Breach>, files: &[(&str, &str)]) -> Vec<String> {
    rule(&Tree::of(files)).iter().map(Breach::to_string).collect()
}

#[test]
fn this_checkout_is_tidy() {
    let breaches = breaches(&Place::of_this_checkout()).unwrap();
    let lines: Vec<String> = breaches.iter().map(Breach::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn a_rust_file_begins_with_what_it_is() {
    let files = [("a.rs", "//! What it is.\n"), ("b.rs", "use std::fs;\n"), ("c.md", "text")];
    assert_eq!(
        broken(texts::headers, &files),
        ["b.rs:1: begins with `//!` and a sentence of what the file is"]
    );
}

#[test]
fn a_long_file_is_told() {
    let long = "x\n".repeat(601);
    let files = [("a.rs", long.as_str()), ("b.rs", &long[..1200]), ("c.lock", &long)];
    assert_eq!(broken(texts::sizes, &files), ["a.rs: has 601 lines; 600 is the most without a reason"]);
}

#[test]
fn a_path_of_one_machine_is_told() {
    let folder = concat!("/", "tmp");
    let named = [format!("cd {folder}/x"), format!("\"{folder}\""), format!("a={folder}/b")];
    let others = [
        format!("/var{folder}/x"),
        format!("${{dir}}{folder}/x"),
        format!("{folder}fs"),
        "a/work/b".to_owned(),
    ];
    for line in &named {
        assert_eq!(broken(texts::machine_paths, &[("a.md", line)]).len(), 1, "{line}");
    }
    for line in &others {
        assert_eq!(broken(texts::machine_paths, &[("a.md", line)]).len(), 0, "{line}");
    }
}

#[test]
fn a_decision_has_its_number_and_is_led_to() {
    let files = [
        ("ARCHITECTURE.md", "see docs/decisions/0001-one.md and 0002-two.md"),
        ("docs/decisions/0001-one.md", ""),
        ("docs/decisions/0002-two.md", ""),
        ("docs/decisions/0002-too.md", ""),
        ("docs/decisions/three.md", ""),
    ];
    assert_eq!(
        broken(texts::decisions, &files),
        [
            "docs/decisions/0002-too.md: is in neither of ARCHITECTURE.md, docs/decisions/README.md",
            "docs/decisions/0002-two.md: has the number of 0002-too.md",
            "docs/decisions/three.md: is not called NNNN-title.md",
        ]
    );
}

#[test]
fn a_document_tells_only_commands_that_exist() {
    let files = [("a.md", "`cargo xtask demo`, then\n`cargo xtask test -p x` or `cargo xtask tset`")];
    assert_eq!(broken(texts::commands, &files), ["a.md:2: `cargo xtask tset` is no command"]);
}

#[test]
fn a_crate_takes_the_lints() {
    let files = [
        ("Cargo.toml", "[workspace]\n"),
        ("a/Cargo.toml", "[package]\nname = \"a\"\n[lints]\nworkspace = true\n"),
        ("b/Cargo.toml", "[package]\nname = \"b\"\n[dependencies]\nx.workspace = true\n"),
    ];
    assert_eq!(
        broken(layers::lints, &files),
        ["b/Cargo.toml: takes the workspace's lints: `[lints] workspace = true`"]
    );
}

#[test]
fn an_arrow_the_wrong_way_is_told() {
    let plan = "[package]\nname = \"mesh-plan\"\n[dependencies]\n# why\nmesh-model.workspace = true\n\
                mesh-bus = { workspace = true }\n[dependencies.mesh-seal]\nworkspace = true\n\
                [dev-dependencies]\nmesh-node.workspace = true\n";
    assert_eq!(
        broken(layers::arrows, &[("crates/mesh-plan/Cargo.toml", plan)]),
        [
            "crates/mesh-plan/Cargo.toml: may not depend on mesh-bus",
            "crates/mesh-plan/Cargo.toml: may not depend on mesh-seal",
        ]
    );
}

#[test]
fn a_library_is_used_by_its_owner_alone() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nasync-nats.workspace = true\n";
    let files = [("crates/mesh-bus/Cargo.toml", manifest), ("crates/mesh-node/Cargo.toml", manifest)];
    assert_eq!(
        broken(layers::owners, &files),
        ["crates/mesh-node/Cargo.toml: may not depend on async-nats: crates/mesh-bus/ may"]
    );
}

#[test]
fn what_is_under_a_pure_crate_is_seen() {
    assert_eq!(layers::impure("mesh-plan v0.1.0 (here)\ntokio-util v0.7.1\nserde v1.0.0\n"), [""; 0]);
    assert_eq!(layers::impure("mesh-plan v0.1.0 (here)\ntokio v1.0.0 (*)\n"), ["tokio"]);
}

#[test]
fn codes_and_pages_belong_together() {
    let codes = "codes! {\n    /// Doc.\n    BadName = \"bad-name\",\n    NoWay = \"no-way\",\n}\n";
    let files = [
        ("crates/mesh-model/src/refusal.rs", codes),
        ("docs/refusals/bad-name.md", "# `bad-name`\n"),
        ("docs/refusals/stale.md", "# stale\n"),
    ];
    assert_eq!(
        broken(refusals::pages, &files),
        ["docs/refusals/stale.md: is the page of no code", "docs/refusals/no-way.md: is not written yet",]
    );
    assert!(broken(refusals::pages, &[])[0].contains("has no codes"));
}

#[test]
fn a_code_has_a_rule_and_a_case() {
    let codes =
        "codes! {\n    BadName = \"bad-name\",\n    BadNames = \"bad-names\",\n    NoWay = \"no-way\",\n}\n";
    let files = [
        ("crates/mesh-model/src/refusal.rs", codes),
        ("crates/mesh-plan/src/rules/names.rs", "refuse(Code::BadNames, Code::NoWay)"),
        ("crates/mesh-plan/src/rules/names/tests.rs", "Code::BadName"),
        ("crates/mesh-plan/tests/cases/a.case", "{\"refused\": [{\"code\": \"bad-name\"}]}"),
        ("elsewhere/b.case", "{\"code\": \"no-way\"}"),
    ];
    let code = "crates/mesh-model/src/refusal.rs";
    let no_rule = format!("{code}: `bad-name` is told by no rule in crates/mesh-plan/src/");
    assert_eq!(broken(refusals::rules, &files), [no_rule]);
    let no_case = |name| format!("{code}: `{name}` has no case in crates/mesh-plan/tests/cases/");
    assert_eq!(broken(refusals::cases, &files), [no_case("bad-names"), no_case("no-way")]);
}

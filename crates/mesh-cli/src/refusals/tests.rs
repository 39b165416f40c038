//! Refusals at 80 columns, without colour.

use mesh_plan::{Catalog, Description, Facts, plan};

use super::*;

/// What is said about a description of these files.
fn said(files: &[(&str, &str)]) -> String {
    let mut description = Description::default();
    for (path, text) in files {
        description.insert(path, text.as_bytes());
    }
    let outcome = plan(&description, &Catalog::default(), None, &Facts::default());
    let look = Look { colour: Colour::No, width: 80 };
    let refused = render(&outcome.refusals, Weight::Refused, &description.texts, look);
    let warned = render(&outcome.warnings, Weight::Warning, &description.texts, look);
    assert!(
        refused.lines().chain(warned.lines()).all(|line| line.chars().count() <= 80),
        "{refused}{warned}"
    );
    format!("{refused}\n{warned}\n{}", summary(outcome.refusals.len(), outcome.warnings.len()))
}

#[test]
fn a_refusal_shows_the_place_and_the_way_out() {
    let mesh = "mesh: home\nnodes: {attic: {address: 10.0.0.1}}\nassign: {wiki: attic, wikki: attic}\n";
    let wiki = "module: wiki\nconfig:\n  title: {default: Wiki}\nneeds:\n  db: {provision: postgres-database}\nfiles:\n  \
                app.toml:\n    content: |\n      # the title of the page\n      title = ${config.titel | toml}\n";
    insta::assert_snapshot!(said(&[("mesh.yaml", mesh), ("modules/wiki/module.yaml", wiki)]), @r"
    refused[unknown-module]: there is no module `wikki`
     --> mesh.yaml:3:23
      |
    3 | assign: {wiki: attic, wikki: attic}
      |                       ^^^^^
      |
      = help: did you mean `wiki`? Or make it: modules/wikki/module.yaml

    refused[no-provider]: nothing on the mesh provides `postgres-database`, which
                          `wiki` needs as `db`
     --> modules/wiki/module.yaml:5:3
      |
    5 |   db: {provision: postgres-database}
      |   ^^
      |
      = help: no module that runs provides anything

    refused[unknown-placeholder]: `${config.titel}`: there is no setting `titel`
      --> modules/wiki/module.yaml:10:15
       |
    10 |       title = ${config.titel | toml}
       |               ^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: did you mean `title`?


    3 refused
    ");
}

#[test]
fn a_warning_is_a_warning() {
    let wiki = "module: wiki\nconfig:\n  title: {default: Wiki}\n";
    let mesh = "mesh: home\nnodes: {attic: {}}\nassign: {wiki: attic}\n";
    insta::assert_snapshot!(said(&[("mesh.yaml", mesh), ("modules/wiki/module.yaml", wiki)]), @r"

    warning[unused-setting]: nothing reads the setting `title`
     --> modules/wiki/module.yaml:3:3
      |
    3 |   title: {default: Wiki}
      |   ^^^^^
      |
      = help: use it as `${config.title}`, or take it out

    nothing is refused, 1 warning
    ");
}

#[test]
fn colour_comes_where_it_is_asked_for() {
    let mut description = Description::default();
    description.insert("mesh.yaml", b"mesh: Home\n");
    let outcome = plan(&description, &Catalog::default(), None, &Facts::default());
    let look = Look { colour: Colour::Yes, width: 80 };
    assert!(render(&outcome.refusals, Weight::Refused, &description.texts, look).contains('\u{1b}'));
}

#[test]
fn a_private_key_in_a_description_is_not_printed() {
    let mesh =
        "mesh: home\nnodes: {attic: {}}\nassign: {}\nescrow: [AGE-SECRET-KEY-1S3NTINELS3NTINEL, age1x]\n";
    let said = said(&[("mesh.yaml", mesh)]);
    assert!(!said.contains("NTINEL"), "{said}");
    assert!(said.contains("escrow: [AGE-SECRET-KEY-*****************, age1x]"), "{said}");
}

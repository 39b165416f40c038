//! Folders, as they are read.
#![allow(clippy::disallowed_methods, reason = "what a test writes is read after it was written")]

use std::os::unix::fs::symlink;

use super::*;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn loaded(dir: &Path) -> Result<Description, LoadError> {
    load(dir, &Catalog::default())
}

#[test]
fn every_file_is_listed_and_only_yaml_is_read() {
    let dir = folder(&[
        ("mesh.yaml", "mesh: home\n"),
        ("modules/notes/module.yaml", "module: notes\n"),
        ("modules/notes/app/module.yaml", "not a manifest"),
        (".git/config", "not part of it"),
        (".mesh/state", "not part of it"),
    ]);
    let description = loaded(dir.path()).unwrap();
    let files: Vec<&str> = description.files.keys().map(String::as_str).collect();
    assert_eq!(files, ["mesh.yaml", "modules/notes/app/module.yaml", "modules/notes/module.yaml"]);
    let texts: Vec<&str> = description.texts.keys().map(String::as_str).collect();
    assert_eq!(texts, ["mesh.yaml", "modules/notes/module.yaml"]);
    assert_eq!(description.files["modules/notes/module.yaml"].digest, Digest::of(b"module: notes\n"));
}

#[test]
fn a_manifest_over_the_limit_is_listed_and_not_read() {
    let long = "#".repeat(300 << 10);
    let dir = folder(&[("mesh.yaml", "mesh: home\n"), ("modules/notes/module.yaml", &long)]);
    let description = loaded(dir.path()).unwrap();
    let entry = &description.files["modules/notes/module.yaml"];
    assert_eq!((entry.size, &entry.digest), (300 << 10, &Digest::of(long.as_bytes())));
    assert!(!description.texts.contains_key("modules/notes/module.yaml"));
}

#[test]
fn a_shipped_module_is_added_where_it_is_assigned_and_the_folder_has_none() {
    let files = [
        ("module.yaml".to_owned(), b"module: postgres\n".to_vec()),
        ("logo.svg".to_owned(), b"<svg/>".to_vec()),
    ];
    let catalog = Catalog { modules: [("postgres".parse().unwrap(), files.into())].into() };
    let dir = folder(&[("mesh.yaml", "mesh: home\nassign: {postgres: attic}\n")]);
    let description = load(dir.path(), &catalog).unwrap();
    assert!(description.texts.contains_key("modules/postgres/module.yaml"));
    assert_eq!(description.shipped.len(), 1);
    let logo = Content::File("modules/postgres/logo.svg".to_owned());
    assert_eq!(content(dir.path(), &catalog, &Digest::of(b"<svg/>"), &logo).unwrap(), b"<svg/>");
    let own = folder(&[("mesh.yaml", "assign: {postgres: attic}"), ("modules/postgres/module.yaml", "mine")]);
    assert_eq!(load(own.path(), &catalog).unwrap().texts["modules/postgres/module.yaml"], b"mine");
}

#[test]
fn a_file_with_placeholders_is_read_beside_its_manifest_and_no_other() {
    let manifest = "module: notes\nfiles:\n  a: {from: a.conf}\n  b: {from: logo.svg, verbatim: true}\n  c: {from: gone}\n  d: {from: ../../mesh.yaml}\n";
    let dir = folder(&[
        ("mesh.yaml", "mesh: home\n"),
        ("modules/notes/module.yaml", manifest),
        ("modules/notes/a.conf", "${config.a}"),
        ("modules/notes/logo.svg", "<svg/>"),
    ]);
    let texts = loaded(dir.path()).unwrap().texts;
    let read: Vec<&str> = texts.keys().map(String::as_str).collect();
    assert_eq!(read, ["mesh.yaml", "modules/notes/a.conf", "modules/notes/module.yaml"]);
    assert_eq!(texts["modules/notes/a.conf"], b"${config.a}");
}

#[test]
fn a_link_may_lead_inside_and_nowhere_else() {
    let dir = folder(&[("mesh.yaml", "mesh: home\n"), ("modules/notes/a.txt", "a")]);
    symlink("a.txt", dir.path().join("modules/notes/b.txt")).unwrap();
    assert_eq!(loaded(dir.path()).unwrap().files["modules/notes/b.txt"].size, 1);
    symlink("..", dir.path().join("modules/up")).unwrap();
    assert!(matches!(loaded(dir.path()), Err(LoadError::Circle { .. })));
    fs::remove_file(dir.path().join("modules/up")).unwrap();
    symlink("/etc", dir.path().join("modules/etc")).unwrap();
    assert!(matches!(loaded(dir.path()), Err(LoadError::Escapes { .. })));
}

#[test]
fn a_folder_without_a_description_is_told_from_one_that_is_not_there() {
    let dir = folder(&[]);
    assert!(matches!(loaded(dir.path()), Err(LoadError::NoMesh { .. })));
    assert!(matches!(loaded(&dir.path().join("gone")), Err(LoadError::Read { .. })));
}

#[test]
fn a_file_that_changed_after_it_was_planned_is_not_handed_over() {
    let dir = folder(&[("mesh.yaml", "mesh: home\n"), ("modules/notes/a.txt", "a")]);
    let planned = Content::File("modules/notes/a.txt".to_owned());
    let read = content(dir.path(), &Catalog::default(), &Digest::of(b"b"), &planned);
    assert!(matches!(read, Err(LoadError::Changed { .. })));
}

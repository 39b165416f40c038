//! `mesh new` and `mesh schema`.

use crate::program::{folder, mesh};

#[test]
fn a_new_module_is_one_that_is_accepted() {
    let home = folder("");
    let written = mesh(home.path(), "new wiki");
    insta::assert_snapshot!("new", written);
    let manifest = std::fs::read_to_string(home.path().join("modules/wiki/module.yaml")).unwrap();
    insta::assert_snapshot!("new_manifest", manifest);
    let checked = mesh(home.path(), "check");
    assert_eq!((checked.exit, checked.err.as_str()), (0, ""), "{checked}");
    let more = mesh(home.path(), "new blog");
    assert!(more.err.contains("add to `assign` in mesh.yaml: `blog: NODE`"), "{more}");
    assert_eq!(mesh(home.path(), "check").exit, 0);
}

#[test]
fn what_is_there_is_left_alone() {
    let home = folder("-- modules/wiki/module.yaml --\nmodule: wiki\n");
    insta::assert_snapshot!("new_again", mesh(home.path(), "new wiki"));
    let manifest = std::fs::read_to_string(home.path().join("modules/wiki/module.yaml")).unwrap();
    assert_eq!(manifest, "module: wiki\n");
    assert_eq!(mesh(home.path(), "new Wiki").exit, 2);
}

#[test]
fn an_editor_finds_the_schema_that_the_first_line_names() {
    let home = folder("");
    mesh(home.path(), "new wiki").done();
    for (file, kind) in [("modules/wiki/module.yaml", "module"), ("mesh.yaml", "mesh")] {
        let path = home.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let named = text.lines().next().unwrap().strip_prefix("# yaml-language-server: $schema=").unwrap();
        let schema = std::fs::read_to_string(path.with_file_name(named)).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
        let printed = mesh(home.path(), &format!("schema {kind}")).json();
        assert_eq!(schema, printed);
        assert_eq!(printed["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(printed["properties"][kind]["description"].is_string(), "{printed}");
    }
    assert_eq!(mesh(home.path(), "schema").json(), mesh(home.path(), "schema module").json());
}

//! `mesh graph`: who needs what from whom, drawn in each way, with what is refused in it.

use crate::program::{fits, folder, mesh};

const HOME: &str = "\
-- mesh.yaml --
mesh: home
nodes: {attic: {address: 192.168.1.10}, cellar: {}}
assign: {postgres: attic, notes: [attic, cellar], wiki: cellar}
-- modules/notes/module.yaml --
module: notes
needs: {db: {provision: postgres-database}}
-- modules/wiki/module.yaml --
module: wiki
needs:
  db: {provision: postgres-database, with: {nmae: wiki}}
  login: {provision: oidc-client}
  self: {provision: page}
dirs: {a: {}}
provides: {page: {answers: '${dir.a}/page.json'}}
";

#[test]
fn it_is_drawn_in_each_way() {
    let home = folder(HOME);
    let mut manual = String::new();
    for format in ["text", "dot", "mermaid"] {
        let ran = mesh(home.path(), &format!("graph --format {format}"));
        if format == "text" {
            fits(&ran.out);
        }
        manual.push_str(&format!("$ mesh graph --format {format}\n{ran}\n"));
    }
    insta::assert_snapshot!("graph", manual);
}

#[test]
fn a_picture_has_all_of_it_and_is_the_same_each_time() {
    let home = folder(HOME);
    let picture = mesh(home.path(), "graph --format svg").done();
    assert!(picture.starts_with("<?xml") && picture.ends_with("</svg>\n"), "{picture}");
    for word in ["postgres", "notes", "wiki", "oidc-client", "login: no-provider", "#cc0000"] {
        assert!(picture.contains(word), "{word}: {picture}");
    }
    assert_eq!(mesh(home.path(), "graph --format svg").done(), picture);
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let home = folder("-- mesh.yaml --\nmesh: [\n");
    insta::assert_snapshot!("unread", mesh(home.path(), "graph"));
    let many: String = (0..301).map(|index| format!("n{index}, ")).collect();
    let nodes: String = (0..301).map(|index| format!("n{index}: {{}}, ")).collect();
    let home = folder(&format!(
        "-- mesh.yaml --\nmesh: home\nnodes: {{{nodes}}}\nassign: {{a: [{many}]}}\n-- modules/a/module.yaml --\nmodule: a\n"
    ));
    insta::assert_snapshot!("too_many", mesh(home.path(), "graph --format svg"));
    assert_eq!(mesh(home.path(), "graph --format dot").exit, 0);
    let nothing = folder("-- mesh.yaml --\nmesh: home\n");
    for format in ["text", "dot", "mermaid", "svg"] {
        assert_eq!(mesh(nothing.path(), &format!("graph --format {format}")).exit, 0, "{format}");
    }
}

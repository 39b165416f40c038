//! What is ours says so, and nothing else does.

use super::*;

fn maker(node: &str, module: &str) -> Maker {
    Maker {
        provision: "postgres-database".parse().unwrap(),
        node: node.parse().unwrap(),
        module: module.parse().unwrap(),
    }
}

#[test]
fn is_known_again_by_the_same_provider_alone() {
    let marker = Marker::Database { module: "notes".parse().unwrap() };
    let comment = maker("attic", "postgres").comment(&marker);
    assert_eq!(
        comment,
        r#"made by mesh: {"v":1,"provision":"postgres-database","node":"attic","provider":"postgres","for":{"database":{"module":"notes"}}}"#
    );
    assert_eq!(maker("attic", "postgres").read(Some(&comment)), Some(marker.clone()));
    assert_eq!(maker("cellar", "postgres").read(Some(&comment)), Some(marker), "restored on another node");
    assert_eq!(maker("attic", "other").read(Some(&comment)), None);
    for other in [None, Some(""), Some("a comment"), Some("made by mesh: {}")] {
        assert_eq!(maker("attic", "postgres").read(other), None);
    }
}

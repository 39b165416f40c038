//! What is kept comes back as it was, is written only where it is new, and is let go of.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::client::fixture::{Trust, bound, inputs, notes};

struct Node {
    folder: TempDir,
}

impl Node {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn layout(&self) -> Layout {
        Layout::new(self.folder.path())
    }

    fn open(&self) -> (Shelf, BTreeMap<ModuleName, Kept>, Contents) {
        Shelf::open(self.layout()).unwrap()
    }
}

fn assigned(content: &[u8]) -> (Assignment, Inputs, Contents) {
    let digest = Digest::of(content);
    let file = json!({"digest": digest, "size": content.len(), "mode": "0600", "on_change": "restart"});
    let assignment = notes(json!({"b": {"exec": ["b"]}, "a": {"exec": ["a"]}}), json!({"x": file}));
    let inputs = inputs(&assignment, &Trust::new("cellar"), Some(bound(Some("c1"))));
    (assignment, inputs, Contents::from([(digest, Arc::new(content.to_vec()))]))
}

#[test]
fn what_is_kept_comes_back_as_it_was_for_its_owner_alone() {
    let node = Node::new();
    let (assignment, inputs, contents) = assigned(b"\xff\x00 not text");
    let name = assignment.module.clone();
    node.layout().make(name.as_str()).unwrap();
    let (mut shelf, kept, _) = node.open();
    assert!(kept.is_empty());
    shelf.keep(&assignment, &inputs, &contents);
    shelf.keep_seen(&Seen::from([("cellar.notes.db".to_owned(), 3)]));

    let (shelf, kept, read) = node.open();
    assert_eq!((&kept[&name].assignment, &kept[&name].inputs), (&assignment, &inputs));
    assert!(kept[&name].assignment.run.keys().map(|name| name.as_str()).eq(["b", "a"]), "in their order");
    assert_eq!(read, contents);
    assert_eq!(shelf.seen()["cellar.notes.db"], 3);
    let digest = contents.keys().next().unwrap();
    let file = node.layout().contents().join(digest.to_string());
    for path in [node.layout().kept("notes"), node.layout().seen(), file] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600, "{}", path.display());
    }
}

#[test]
fn the_same_is_not_written_again() {
    let node = Node::new();
    let (assignment, inputs, contents) = assigned(b"x");
    node.layout().make("notes").unwrap();
    node.open().0.keep(&assignment, &inputs, &contents);
    let inode = || node.layout().kept("notes").metadata().unwrap().ino();
    let before = inode();
    let (mut shelf, ..) = node.open();
    shelf.keep(&assignment, &inputs, &contents);
    assert_eq!(inode(), before, "not after a start either");
    shelf.keep(&assignment, &Inputs::default(), &contents);
    assert_ne!(inode(), before);
}

#[test]
fn contents_that_nothing_refers_to_are_let_go_of() {
    let node = Node::new();
    node.layout().make("notes").unwrap();
    let (mut shelf, ..) = node.open();
    let (old, inputs, mut contents) = assigned(b"old");
    shelf.keep(&old, &inputs, &contents);
    let (new, _, more) = assigned(b"new");
    contents.extend(more);
    shelf.prune([&new].into_iter(), &mut contents);
    assert_eq!(contents.len(), 2, "the old one is what would be run without the bus");
    shelf.keep(&new, &inputs, &contents);
    shelf.prune([&new].into_iter(), &mut contents);
    assert_eq!((contents.len(), node.open().2.len()), (1, 1));
    shelf.forget(&new.module);
    shelf.prune([].into_iter(), &mut contents);
    assert_eq!((contents.len(), node.open().1.len(), node.open().2.len()), (0, 0, 0));
}

#[test]
fn what_is_damaged_is_passed_over_or_named() {
    let node = Node::new();
    let (assignment, inputs, contents) = assigned(b"x");
    node.layout().make("notes").unwrap();
    node.open().0.keep(&assignment, &inputs, &contents);
    let damage = |path: &Path| {
        let name = Path::new(path.file_name().unwrap());
        let garbage = FileToWrite { path: name, content: b"{", mode: 0o600, owner: None };
        files::write_all(path.parent().unwrap(), &[garbage]).unwrap();
    };
    damage(&node.layout().kept("notes"));
    damage(&node.layout().contents().join(contents.keys().next().unwrap().to_string()));
    let (mut shelf, kept, read) = node.open();
    assert!(kept.is_empty() && read.is_empty());
    shelf.keep(&assignment, &inputs, &contents);
    assert_eq!(node.open().1.len(), 1, "the bus had it too");
    damage(&node.layout().seen());
    let error = Shelf::open(node.layout()).err().unwrap();
    assert!(error.to_string().contains("seen.json"), "{error}");
}

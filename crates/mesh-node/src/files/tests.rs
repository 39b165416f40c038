//! The writer on a real disk: whole, private, through no link, and with nothing changed where the disk is full.

use std::{
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
    process::Command,
};

use super::*;

fn file<'a>(path: &'a str, content: &'a str) -> FileToWrite<'a> {
    FileToWrite { path: Path::new(path), content: content.as_bytes(), mode: 0o600, owner: None }
}

fn paths(changed: &[PathBuf]) -> Vec<&str> {
    changed.iter().map(|path| path.to_str().unwrap()).collect()
}

/// Every path below a folder.
fn below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(below(&path));
        } else {
            found.push(path.to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

#[expect(clippy::disallowed_methods, reason = "a test puts down what is there before")]
fn put(path: &Path, content: &str) {
    std::fs::write(path, content).unwrap();
}

#[test]
fn only_what_differs_is_written() {
    let root = tempfile::tempdir().unwrap();
    let both = |second| [file("a/one", "1"), FileToWrite { mode: 0o640, ..file("two", second) }];
    assert_eq!(paths(&write_all(root.path(), &both("2")).unwrap()), ["a/one", "two"]);
    let before = root.path().join("a/one").metadata().unwrap();
    assert_eq!(paths(&write_all(root.path(), &both("2")).unwrap()), Vec::<&str>::new());
    assert_eq!(paths(&write_all(root.path(), &both("3")).unwrap()), ["two"]);
    let after = root.path().join("a/one").metadata().unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    assert_eq!(after.mode() & 0o7777, 0o600);
    assert_eq!(root.path().join("two").metadata().unwrap().mode() & 0o7777, 0o640);
    assert_eq!(root.path().join("a").metadata().unwrap().mode() & 0o7777, 0o711);
}

#[test]
fn a_mode_that_somebody_widened_is_mended() {
    let root = tempfile::tempdir().unwrap();
    write_all(root.path(), &[file("one", "1")]).unwrap();
    let one = root.path().join("one");
    std::fs::set_permissions(&one, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(paths(&write_all(root.path(), &[file("one", "1")]).unwrap()), ["one"]);
    assert_eq!(one.metadata().unwrap().mode() & 0o7777, 0o600);
}

#[test]
fn an_open_file_keeps_what_it_was() {
    let root = tempfile::tempdir().unwrap();
    write_all(root.path(), &[file("one", "old")]).unwrap();
    let open = std::fs::File::open(root.path().join("one")).unwrap();
    write_all(root.path(), &[file("one", "new")]).unwrap();
    assert_eq!(std::io::read_to_string(open).unwrap(), "old");
}

#[test]
fn no_link_is_written_through_and_the_refusal_names_it() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    put(&outside.path().join("target"), "mine");
    symlink(outside.path(), root.path().join("folder")).unwrap();
    symlink(outside.path().join("target"), root.path().join("link")).unwrap();
    for path in ["folder/target", "folder/deeper/new", "link"] {
        let error = write_all(root.path(), &[file("fine", "1"), file(path, "theirs")]).unwrap_err();
        let link = root.path().join(path.split('/').next().unwrap());
        assert!(matches!(&error, Error::Symlink { path } if *path == link), "{error}");
    }
    assert_eq!(below(outside.path()).len(), 1);
    assert_eq!(std::fs::read_to_string(outside.path().join("target")).unwrap(), "mine");
    assert!(!root.path().join("fine").exists(), "all or none");
}

#[test]
fn a_path_that_leaves_its_folder_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for path in ["../up", "/etc/mesh-test", "a/../../up", ""] {
        let error = write_all(root.path(), &[file(path, "1")]).unwrap_err();
        assert!(matches!(error, Error::Outside { .. }), "{path}: {error}");
    }
}

#[test]
fn a_folder_in_the_way_is_said_and_a_file_too() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("one")).unwrap();
    put(&root.path().join("two"), "");
    for path in ["one", "two/three"] {
        let error = write_all(root.path(), &[file(path, "1")]).unwrap_err();
        assert!(matches!(error, Error::InTheWay { .. }), "{path}: {error}");
    }
}

#[test]
fn what_is_no_longer_wanted_goes_and_what_others_keep_stays() {
    let home = tempfile::tempdir().unwrap();
    let (root, ledger) = (home.path().join("module"), home.path().join("files.json"));
    std::fs::create_dir(&root).unwrap();
    replace(&root, &ledger, &[file("a/one", "1"), file("a/two", "2")]).unwrap();
    put(&root.join("a/theirs"), "kept");
    // As a writer that was killed would have left it.
    put(&root.join("a/.mesh-new-one"), "half");
    assert_eq!(paths(&replace(&root, &ledger, &[file("a/two", "2")]).unwrap()), ["a/one"]);
    assert_eq!(
        below(&root),
        ["theirs", "two"].map(|name| root.join("a").join(name).to_str().unwrap().to_owned())
    );
    std::fs::remove_file(root.join("a/theirs")).unwrap();
    assert_eq!(paths(&replace(&root, &ledger, &[]).unwrap()), ["a/two"]);
    assert_eq!(below(home.path()), Vec::<String>::new());
    assert!(!root.join("a").exists(), "an empty folder goes with its last file");
}

#[test]
fn after_a_crash_between_writing_and_the_ledger_nothing_is_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let (root, ledger) = (home.path().join("module"), home.path().join("files.json"));
    std::fs::create_dir(&root).unwrap();
    replace(&root, &ledger, &[file("old", "1")]).unwrap();
    // The next call got as far as naming both and writing the new one.
    put(&ledger, r#"{"files":["new","old"]}"#);
    write_all(&root, &[file("new", "2")]).unwrap();
    replace(&root, &ledger, &[file("newer", "3")]).unwrap();
    assert_eq!(below(&root), [root.join("newer").to_str().unwrap()]);
}

#[test]
fn an_owner_is_set_before_the_name_is_and_others_cannot_read() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can give a file away");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    let owner = Some(Owner { uid: 4242, gid: 4243 });
    write_all(root.path(), &[FileToWrite { owner, ..file("a/secret", "sentinel") }]).unwrap();
    let path = root.path().join("a/secret");
    let metadata = path.metadata().unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (4242, 4243, 0o600));
    let reads = |user: &str| {
        let who = ["--reuid", user, "--regid", user, "--clear-groups", "cat"];
        Command::new("setpriv").args(who).arg(&path).output().unwrap().status.success()
    };
    assert!(reads("4242"));
    assert!(!reads("4300"));
}

#[test]
fn a_folder_is_its_owners_alone_and_those_above_it_only_let_pass() {
    let root = tempfile::tempdir().unwrap();
    let dir = Dir { path: root.path().join("a/b/data"), lasting: Lasting::Temporary, owner: None };
    make(&dir).unwrap();
    assert_eq!(dir.path.metadata().unwrap().mode() & 0o7777, 0o700);
    assert_eq!(root.path().join("a/b").metadata().unwrap().mode() & 0o7777, 0o711);
    let outside = tempfile::tempdir().unwrap();
    put(&outside.path().join("kept"), "");
    symlink(outside.path(), dir.path.join("link")).unwrap();
    std::fs::create_dir_all(dir.path.join("x/y")).unwrap();
    make(&dir).unwrap();
    folders::empty(&dir).unwrap();
    assert_eq!(std::fs::read_dir(&dir.path).unwrap().count(), 0);
    assert!(outside.path().join("kept").exists());
}

#[test]
fn a_closed_folder_is_named_with_the_way_out() {
    let root = tempfile::tempdir().unwrap();
    let user = crate::users::User {
        name: "notes".into(),
        uid: 4242,
        gid: 4242,
        groups: vec![4242],
        home: "/".into(),
    };
    let below = root.path().join("state/modules");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let refused = reachable_by(&below, &user).unwrap_err();
    assert_eq!(refused.folder, root.path().canonicalize().unwrap());
    assert!(refused.to_string().contains("chmod o+x"), "{refused}");
    std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    assert_eq!(reachable_by(&below, &user), Ok(()));
}

/// A small filesystem of its own, gone with the value.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "mesh-test"]).arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        #[expect(clippy::disallowed_methods, reason = "whether a skip is allowed is said by the environment")]
        let must = std::env::var_os("CI").is_some();
        assert!(mounted || !must, "CI has to be able to mount a small filesystem");
        mounted.then(|| Self(folder))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_leaves_every_old_file() {
    let Some(small) = Small::mount() else {
        eprintln!("SKIPPED: no small filesystem can be mounted here");
        return;
    };
    let (root, ledger) = (small.0.path().join("module"), small.0.path().join("files.json"));
    std::fs::create_dir(&root).unwrap();
    let old = [file("one", "old"), file("two", "old")];
    replace(&root, &ledger, &old).unwrap();
    let large = "x".repeat(100_000);
    let error = replace(&root, &ledger, &[file("one", "new"), file("two", &large)]).unwrap_err();
    assert!(matches!(&error, Error::Io { doing: "write", path, .. } if path.ends_with("two")), "{error}");
    let held: Vec<_> = below(&root).iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert_eq!(held, ["old", "old"]);
    replace(&root, &ledger, &[file("one", "new"), file("two", "new")]).unwrap();
}

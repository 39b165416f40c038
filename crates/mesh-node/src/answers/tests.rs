//! What a provisioner's user may put where its answers should be.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;
use crate::client::fixture::{postgres, revision};

fn provider() -> (tempfile::TempDir, Assignment, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answers.json");
    let mut assignment = postgres();
    for provided in assignment.provides.values_mut() {
        provided.answers = path.to_str().unwrap().to_owned();
    }
    (folder, assignment, path)
}

fn write(path: &std::path::Path, text: &str) {
    let (folder, name) = (path.parent().unwrap(), std::path::Path::new(path.file_name().unwrap()));
    let file = crate::files::FileToWrite { path: name, content: text.as_bytes(), mode: 0o600, owner: None };
    crate::files::write_all(folder, &[file]).unwrap();
}

fn good() -> String {
    json!({"v": 1, "answers": [{"node": "cellar", "module": "notes", "local": "db", "revision": revision(),
        "credential": "c1", "values": {"host": "10.0.0.1"}}]})
    .to_string()
}

fn now() -> Timestamp {
    Timestamp::try_from("2026-12-01T00:00:00Z".to_owned()).unwrap()
}

#[test]
fn what_is_no_plain_file_is_told_and_takes_nothing_back() {
    let (folder, assignment, path) = provider();
    let mut answers = AnswersFiles::default();
    write(&path, &good());
    assert_eq!(answers.read(&assignment, now()).put.len(), 1);
    let elsewhere = folder.path().join("elsewhere");
    write(&elsewhere, &good().replace("10.0.0.1", "10.0.0.66"));
    let tricks: [&dyn Fn(); 5] = [
        &|| symlink(&elsewhere, &path).unwrap(),
        &|| symlink("/dev/zero", &path).unwrap(),
        &|| rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap(),
        &|| fs::create_dir(&path).unwrap(),
        &|| fs::File::create(&path).unwrap().set_len(MAX_ANSWERS + 1).unwrap(),
    ];
    for (number, trick) in tricks.iter().enumerate() {
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
        trick();
        let due = answers.read(&assignment, now());
        assert_eq!((due.put.len(), due.delete.len(), due.faults.len()), (0, 0, 1), "{number}: {due:?}");
    }
}

#[test]
fn what_could_not_be_told_is_told_again_and_not_at_once() {
    let (_folder, assignment, path) = provider();
    let mut answers = AnswersFiles::default();
    write(&path, &good());
    let key = answers.read(&assignment, now()).put[0].0.clone();
    answers.untold(&[key]);
    assert!(!answers.have_changed(&assignment), "not at once");
    assert_eq!(answers.again.unwrap().1, AGAIN.0 * 2, "and later next time");
    answers.again = answers.again.map(|(_, pause)| (Instant::now(), pause));
    assert!(answers.have_changed(&assignment));
    assert_eq!(answers.read(&assignment, now()).put.len(), 1);
    answers.untold(&[]);
    assert!(answers.again.is_none() && !answers.have_changed(&assignment));
}

#[test]
fn who_left_is_told_until_the_provisioner_has_taken_them_back() {
    let (_folder, mut assignment, path) = provider();
    let mut answers = AnswersFiles::default();
    write(&path, &good());
    assert!(answers.read(&assignment, now()).left.is_empty());
    assignment.consumers.clear();
    let due = answers.read(&assignment, now());
    let left: Vec<String> = due.left.values().flatten().map(ModuleKey::at).collect();
    assert_eq!((left, due.delete.len(), due.faults), (vec!["notes@cellar".to_owned()], 1, vec![]));
    write(&path, "{\"v\": 1, \"answers\": []}");
    assert!(answers.have_changed(&assignment));
    assert!(answers.read(&assignment, now()).left.is_empty());
}

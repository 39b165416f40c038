//! Turning a log over.

use super::*;

#[test]
fn a_full_log_begins_anew_and_three_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.log");
    let mut log = Log::open(&path, 10).unwrap();
    for output in ["one-----\n", "two-----\n", "three---\n", "four----\n"] {
        log.add(output.as_bytes());
    }
    let held = |number| std::fs::read_to_string(numbered(&path, number)).unwrap();
    assert_eq!((held(0), held(1), held(2)), ("four----\n".into(), "three---\n".into(), "two-----\n".into()));
    assert!(!numbered(&path, 3).exists());
}

#[test]
fn a_log_is_appended_to_by_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.log");
    for output in ["one\n", "two\n"] {
        Log::open(&path, 100).unwrap().add(output.as_bytes());
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
}

//! An answers file is whole or it is the one before.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

fn consumer(node: &str) -> ConsumerId {
    ConsumerId { node: node.parse().unwrap(), module: "notes".parse().unwrap(), local: "db".parse().unwrap() }
}

fn accepted(node: &str) -> Answer {
    let values = BTreeMap::from([("port".to_owned(), "5432".to_owned())]);
    let outcome = Outcome::Accepted { credential: Some("c7f3".to_owned()), values, why: None };
    Answer { consumer: consumer(node), revision: "4be1".to_owned(), outcome }
}

fn failed(node: &str) -> Answer {
    let outcome = Outcome::Failed { error: "the name is taken".to_owned() };
    Answer { consumer: consumer(node), revision: "4be1".to_owned(), outcome }
}

#[test]
fn writes_what_the_contract_shows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answers.json");
    let mut answers = Answers::open(&path);
    answers.put(accepted("cellar"));
    answers.put(failed("attic"));
    answers.write().unwrap();
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let shown = serde_json::json!({"v":1, "answers":[
        {"node":"attic","module":"notes","local":"db","revision":"4be1","error":"the name is taken"},
        {"node":"cellar","module":"notes","local":"db","revision":"4be1","credential":"c7f3","values":{"port":"5432"}}]});
    assert_eq!(written, shown);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn is_replaced_only_where_it_differs_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answers.json");
    let inode = || std::fs::metadata(&path).unwrap().ino();
    let mut answers = Answers::open(&path);
    answers.put(accepted("cellar"));
    answers.write().unwrap();
    let first = inode();
    let mut again = Answers::open(&path);
    assert_eq!(again.get(&consumer("cellar")), Some(&accepted("cellar")));
    again.write().unwrap();
    assert_eq!(inode(), first);
    assert_eq!(again.keep(|_| false), [consumer("cellar")]);
    again.write().unwrap();
    assert_ne!(inode(), first);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_link_left_beside_it_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    File::create(&victim).unwrap();
    std::os::unix::fs::symlink(&victim, folder.path().join(".answers.json.new")).unwrap();
    let mut answers = Answers::open(&folder.path().join("answers.json"));
    answers.put(accepted("cellar"));
    answers.write().unwrap();
    assert_eq!(std::fs::metadata(&victim).unwrap().len(), 0);
}

#[test]
fn a_file_of_before_that_cannot_be_read_is_as_good_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answers.json");
    for text in ["", "{", r#"{"v":2,"answers":[]}"#, r#"{"v":1,"answers":[{"node":"attic"}]}"#] {
        File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        let answers = Answers::open(&path);
        answers.write().unwrap();
        assert_eq!(parse(&std::fs::read(&path).unwrap()), Some(vec![]), "{text}");
    }
}

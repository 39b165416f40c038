//! Who gets in, where, and as whom.

use serde_json::json;

use crate::provisioner::consumer;
use crate::server::Server;

#[tokio::test]
async fn a_consumer_is_answered_with_what_logs_in_and_two_nodes_of_a_module_share_what_they_make() {
    let server = Server::start(&[]);
    let ran = server.accepts(&[
        consumer("notes", "cellar", "notes", &[("c7f3", "one")]),
        consumer("notes", "attic", "notes", &[("d8a4", "two")]),
    ]);
    let answer = json!({"node":"cellar","module":"notes","local":"db","revision":"4be1","credential":"c7f3",
        "values":{"host":"192.168.1.10","port":server.port.to_string(),"database":"notes","user":"notes_cellar_db_c7f3"}});
    assert_eq!(ran.answers["notes@cellar"], answer);
    let cellar = server.log_in("notes_cellar_db_c7f3", "one", "notes").await.unwrap();
    cellar.run("CREATE TABLE note (text text); INSERT INTO note VALUES ('hello')").await.unwrap();
    let attic = server.log_in("notes_attic_db_d8a4", "two", "notes").await.unwrap();
    attic.run("ALTER TABLE note ADD COLUMN at timestamptz; RESET ROLE").await.unwrap();
    assert_eq!(attic.ask("SELECT text FROM note").await, "hello");
    assert_eq!(attic.ask("SELECT tableowner FROM pg_tables WHERE tablename = 'note'").await, "notes:notes");
    assert_eq!(
        attic.ask("SELECT current_user || ' ' || session_user").await,
        "notes:notes notes_attic_db_d8a4"
    );
}

#[tokio::test]
async fn nobody_gets_into_what_is_not_theirs() {
    let server = Server::start(&[]);
    server.accepts(&[
        consumer("notes", "cellar", "notes", &[("a1", "one")]),
        consumer("wiki", "cellar", "wiki", &[("b1", "two")]),
    ]);
    let (notes, wiki) = ("notes_cellar_db_a1", "wiki_cellar_db_b1");
    for (user, password, database, said) in [
        (notes, "two", "notes", "password authentication failed"),
        (notes, "", "notes", "password authentication failed"),
        (wiki, "one", "wiki", "password authentication failed"),
        ("notes:notes", "one", "notes", "password authentication failed"),
        (notes, "one", "wiki", "permission denied for database \"wiki\""),
        (notes, "one", "postgres", "permission denied for database \"postgres\""),
        (notes, "one", "template1", "permission denied for database \"template1\""),
    ] {
        let refused = server.log_in(user, password, database).await.err().unwrap_or_default();
        assert!(refused.contains(said), "{user} with `{password}` into {database}: {refused}");
    }
    let session = server.log_in(notes, "one", "notes").await.unwrap();
    for statement in [
        "SET ROLE \"wiki:wiki\"",
        "CREATE ROLE other",
        "CREATE DATABASE other",
        "SELECT rolpassword FROM pg_authid",
        "COMMENT ON ROLE \"notes:notes\" IS 'mine'",
        "ALTER DATABASE notes RENAME TO other",
    ] {
        let refused = session.run(statement).await.err().unwrap_or_default();
        assert!(refused.contains("denied") || refused.contains("must"), "{statement}: {refused}");
    }
}

#[tokio::test]
async fn both_credentials_log_in_while_one_is_rotated_and_the_answer_is_for_the_newest_that_does() {
    let server = Server::start(&[]);
    let rotating = |newest| [consumer("notes", "attic", "notes", &[("a1", "one"), ("a2", newest)])];
    server.deliver(&rotating(""));
    let ran = server.pass();
    assert_eq!((ran.code, &ran.answers["notes@attic"]["credential"]), (1, &json!("a1")));
    assert_eq!(
        ran.answers["notes@attic"]["why"], "credential a2 is not accepted: its password is empty",
        "{}",
        ran.said
    );
    let ran = server.accepts(&rotating("two"));
    assert_eq!(ran.answers["notes@attic"]["credential"], "a2");
    let old = server.log_in("notes_attic_db_a1", "one", "notes").await.unwrap();
    let new = server.log_in("notes_attic_db_a2", "two", "notes").await.unwrap();
    old.run("CREATE TABLE shared ()").await.unwrap();
    new.run("DROP TABLE shared").await.unwrap();
    server.accepts(&[consumer("notes", "attic", "notes", &[("a2", "two")])]);
    assert!(old.ends().await);
    assert!(server.log_in("notes_attic_db_a1", "one", "notes").await.is_err());
    assert_eq!(new.ask("SELECT 1").await, "1", "the newer one's sessions go on");
}

#[tokio::test]
async fn long_names_and_odd_passwords_work_as_any_other() {
    let server = Server::start(&[]);
    let (one, other) = (format!("{}a", "x".repeat(62)), format!("{}b", "x".repeat(62)));
    let password = r#"p@s/s:w?#% 'é"\ ｆｕｌｌ\u{301}"#;
    let ran = server.accepts(&[
        consumer(&one, &one, &one, &[("a1", password)]),
        consumer(&other, &one, &other, &[("a1", password)]),
        consumer("pg", "attic", "pg-data_1", &[("ID-with.more", password)]),
        consumer("a-b", "9", "Quoted\"name'\\é", &[("a1", password)]),
    ]);
    let mut users = std::collections::BTreeSet::new();
    for answer in ran.answers.values() {
        let value = |field: &str| answer["values"][field].as_str().unwrap().to_owned();
        server.log_in(&value("user"), password, &value("database")).await.unwrap();
        users.insert(value("user"));
    }
    assert_eq!(users.len(), 4);
}

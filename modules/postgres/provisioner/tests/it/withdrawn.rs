//! Who is no longer in the file.

use crate::provisioner::consumer;
use crate::server::Server;

#[tokio::test]
async fn the_login_is_refused_its_sessions_end_and_its_data_stays() {
    let server = Server::start(&[]);
    let wiki = consumer("wiki", "attic", "wiki", &[("b1", "two")]);
    server.accepts(&[consumer("notes", "attic", "notes", &[("a1", "one")]), wiki.clone()]);
    let notes = server.log_in("notes_attic_db_a1", "one", "notes").await.unwrap();
    notes.run("CREATE TABLE note AS SELECT 'kept' AS text").await.unwrap();
    notes.run("BEGIN; LOCK TABLE note").await.unwrap();
    let other = server.log_in("wiki_attic_db_b1", "two", "wiki").await.unwrap();
    let ran = server.accepts(&[wiki]);
    assert!(notes.ends().await);
    assert_eq!(ran.answers.keys().collect::<Vec<_>>(), ["wiki@attic"]);
    assert!(server.log_in("notes_attic_db_a1", "one", "notes").await.is_err());
    assert_eq!(other.ask("SELECT 1").await, "1");
    assert_eq!(server.superuser("notes").await.ask("SELECT text FROM note").await, "kept");
    assert_eq!(server.ask("SELECT count(*) FROM pg_roles WHERE rolname = 'notes_attic_db_a1'").await, "0");
}

#[tokio::test]
async fn a_login_that_owns_something_itself_is_dropped_and_the_group_owns_it() {
    let server = Server::start(&[]);
    server.accepts(&[consumer("notes", "attic", "notes", &[("a1", "one")])]);
    let notes = server.log_in("notes_attic_db_a1", "one", "notes").await.unwrap();
    notes.run("SET ROLE NONE; CREATE SCHEMA own; CREATE TABLE own.note ()").await.unwrap();
    let owner = "SELECT tableowner FROM pg_tables WHERE tablename = 'note'";
    assert_eq!(notes.ask(owner).await, "notes_attic_db_a1");
    server.accepts(&[]);
    assert_eq!(server.ask("SELECT count(*) FROM pg_roles WHERE rolname = 'notes_attic_db_a1'").await, "0");
    assert_eq!(server.superuser("notes").await.ask(owner).await, "notes:notes");
}

#[tokio::test]
async fn one_that_cannot_be_dropped_stays_without_a_login_and_stops_nothing() {
    let server = Server::start(&[]);
    server.accepts(&[consumer("notes", "attic", "notes", &[("a1", "one")])]);
    server.superuser("template1").await.run("CREATE DATABASE by_hand").await.unwrap();
    let admin = server.superuser("by_hand").await;
    admin
        .run("CREATE TABLE t (); ALTER TABLE t OWNER TO notes_attic_db_a1; BEGIN; LOCK TABLE t")
        .await
        .unwrap();
    let ran = server.accepts(&[consumer("wiki", "attic", "wiki", &[("b1", "two")])]);
    assert!(ran.said.contains("notes_attic_db_a1: stays, without a login"), "{}", ran.said);
    let refused = server.log_in("notes_attic_db_a1", "one", "notes").await.err().unwrap();
    assert!(refused.contains("not permitted to log in"), "{refused}");
}

#[tokio::test]
async fn a_consumer_that_holds_a_lock_on_its_own_role_is_withdrawn_all_the_same() {
    let server = Server::start(&[]);
    server.accepts(&[consumer("notes", "attic", "notes", &[("a1", "one")])]);
    let notes = server.log_in("notes_attic_db_a1", "one", "notes").await.unwrap();
    notes.run("SET ROLE NONE; BEGIN; ALTER ROLE notes_attic_db_a1 PASSWORD 'mine'").await.unwrap();
    server.accepts(&[consumer("wiki", "attic", "wiki", &[("b1", "two")])]);
    assert!(notes.ends().await);
    for password in ["one", "mine"] {
        assert!(server.log_in("notes_attic_db_a1", password, "notes").await.is_err());
    }
}

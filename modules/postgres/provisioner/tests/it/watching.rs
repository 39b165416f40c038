//! `--watch`, over the life of a server.

use std::time::Duration;

use crate::provisioner::consumer;
use crate::server::Server;

#[tokio::test]
async fn a_server_that_is_not_up_yet_is_waited_for_and_one_that_comes_back_is_looked_at_again() {
    let mut server = Server::initialised(&[]);
    server.deliver(&[consumer("notes", "attic", "notes", &[("a1", "one")])]);
    let watching = server.watch();
    server.says("the server is not ready").await;
    assert!(server.answers().is_empty());
    server.up();
    server.answers_until(|answers| answers.contains_key("notes@attic")).await;
    let admin = server.superuser("template1").await;
    admin.run("ALTER ROLE notes_attic_db_a1 PASSWORD NULL; CHECKPOINT").await.unwrap();
    server.kill();
    server.says_after("accepted", "the server is not ready").await;
    assert!(server.answers().contains_key("notes@attic"), "what was answered stays");
    server.up();
    server
        .ask_until("SELECT rolpassword IS NULL FROM pg_authid WHERE rolname = 'notes_attic_db_a1'", "f")
        .await;
    server.log_in("notes_attic_db_a1", "one", "notes").await.unwrap();
    assert_eq!(watching.stop(), Some(0));
}

#[tokio::test]
async fn a_change_is_taken_up_and_a_file_that_cannot_be_read_changes_nothing() {
    let server = Server::start(&[]);
    let notes = consumer("notes", "attic", "notes", &[("a1", "one")]);
    server.deliver(std::slice::from_ref(&notes));
    let _watching = server.watch();
    server.answers_until(|answers| answers.contains_key("notes@attic")).await;
    let session = server.log_in("notes_attic_db_a1", "one", "notes").await.unwrap();
    for (text, said) in [
        ("", "is empty"),
        ("{\"v\":1,\"provision\":\"postg", "ends in the middle"),
        ("nonsense", "is not JSON"),
        ("{\"v\":1}", "is not of the shape"),
        ("{\"v\":7}", "of version 7"),
    ] {
        server.deliver_text(text);
        server.says(said).await;
    }
    server.withdraw_file();
    server.says("there is no consumers file").await;
    assert_eq!(session.ask("SELECT 1").await, "1");
    assert!(server.answers().contains_key("notes@attic"));
    server.deliver(&[notes, consumer("wiki", "attic", "wiki", &[("b1", "two")])]);
    server.answers_until(|answers| answers.len() == 2).await;
    server.deliver(&[]);
    server.answers_until(|answers| answers.is_empty()).await;
    assert!(session.ends().await);
}

#[tokio::test]
async fn with_nothing_to_do_the_server_is_not_asked_anything() {
    let server = Server::start(&["autovacuum=off"]);
    server.deliver(&[consumer("notes", "attic", "notes", &[("a1", "one")])]);
    let _watching = server.watch();
    server.answers_until(|answers| answers.contains_key("notes@attic")).await;
    // What is asked is logged by the server's own count of its transactions; it is flushed when a session idles.
    let asked = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'";
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let before = server.ask(asked).await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let after = server.ask(asked).await;
    assert_eq!(before, after);
}

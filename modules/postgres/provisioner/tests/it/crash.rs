//! What went wrong in between: a kill, a backup, a hand.

use serde_json::Value;

use crate::provisioner::consumer;
use crate::server::Server;

const OPEN: &str = "SELECT count(*) FROM pg_database WHERE has_database_privilege('public', oid, 'CONNECT') \
                    AND datname <> 'template0'";

#[tokio::test]
async fn killed_in_the_middle_and_run_again_it_ends_where_it_should() {
    let server = Server::start(&[]);
    let names: Vec<_> = (0..12).map(|i| format!("m{i}")).collect();
    let all: Vec<Value> = names.iter().map(|name| consumer(name, "attic", name, &[("a1", "one")])).collect();
    server.deliver(&all);
    for databases in ["2", "6"] {
        let watching = server.watch();
        server
            .ask_until(&format!("SELECT count(*) >= {databases} FROM pg_database WHERE datname ~ '^m'"), "t")
            .await;
        watching.kill();
    }
    assert_ne!(
        server.ask("SELECT count(*) FROM pg_database WHERE datname ~ '^m'").await,
        "12",
        "killed too late"
    );
    server.accepts(&all);
    assert_eq!(server.ask(OPEN).await, "0");
    for name in &names {
        server.log_in(&format!("{name}_attic_db_a1"), "one", name).await.unwrap();
    }
}

#[tokio::test]
async fn what_a_backup_or_a_hand_put_back_is_set_again() {
    let server = Server::start(&[]);
    let file = [
        consumer("notes", "attic", "notes", &[("a1", "one")]),
        consumer("wiki", "attic", "wiki", &[("b1", "two")]),
    ];
    server.accepts(&file);
    let admin = server.superuser("template1").await;
    for tampered in [
        "ALTER ROLE notes_attic_db_a1 PASSWORD 'older'",
        "ALTER ROLE notes_attic_db_a1 NOLOGIN",
        "ALTER ROLE notes_attic_db_a1 SUPERUSER CREATEDB",
        "ALTER ROLE notes_attic_db_a1 VALID UNTIL '2020-01-01'",
        "ALTER ROLE notes_attic_db_a1 RESET role",
        "ALTER ROLE \"notes:notes\" LOGIN PASSWORD 'older'",
        "REVOKE \"notes:notes\" FROM notes_attic_db_a1",
        "GRANT \"wiki:wiki\" TO notes_attic_db_a1",
        "GRANT CONNECT ON DATABASE notes TO PUBLIC",
        "GRANT CONNECT ON DATABASE postgres TO PUBLIC",
        "DROP ROLE notes_attic_db_a1",
        "DROP DATABASE notes",
    ] {
        admin.run(tampered).await.unwrap();
        server.accepts(&file);
        let notes = server.log_in("notes_attic_db_a1", "one", "notes").await;
        let notes = notes.unwrap_or_else(|error| panic!("after {tampered}: {error}"));
        assert_eq!(
            notes.ask("SELECT current_user || current_setting('is_superuser')").await,
            "notes:notesoff"
        );
        assert!(notes.run("SET ROLE \"wiki:wiki\"").await.is_err(), "{tampered}");
        assert!(server.log_in("notes_attic_db_a1", "older", "notes").await.is_err(), "{tampered}");
        assert!(server.log_in("notes:notes", "older", "notes").await.is_err(), "{tampered}");
        assert_eq!(server.ask(OPEN).await, "0", "{tampered}");
    }
}

//! Who is let in to the database, and into which.

use std::path::PathBuf;

use tokio_postgres::error::SqlState;

use crate::quickstart::database::{Session, config, refused};
use crate::quickstart::home::Home;

/// A second module with a database of its own, which it never uses.
const WIKI: &str = "\
module: wiki
needs: {db: {provision: postgres-database}}
files: {url: {content: '${bound.db.url}'}}
run: {server: {exec: [sleep, infinity], user: nobody}}
";

#[test]
fn what_was_rendered_logs_in_and_nothing_else_does() {
    let home = Home::quickstart();
    home.write("modules/wiki/module.yaml", WIKI);
    home.edit("mesh.yaml", "notes: cellar", "wiki: cellar\n  notes: cellar");
    home.up();
    let url = home.service("cellar", "notes", "server").entry("DATABASE_URL").expect("its environment");
    let session = Session::open(&url).unwrap();
    assert_eq!(session.ask("SELECT current_database()::text").unwrap(), ["notes"]);
    let wiki = std::fs::read_to_string(home.state().join("nodes/cellar/modules/wiki/files/url")).unwrap();
    assert_eq!(Session::open(&wiki).unwrap().ask("SELECT current_database()::text").unwrap(), ["wiki"]);

    let others = [
        home.reveal("cellar", "wiki.db.password"),
        home.reveal("attic", "postgres.superuser"),
        home.reveal("cellar", "notes.session"),
        "guess".to_owned(),
    ];
    for password in others {
        let mut other = config(&url);
        other.password(password);
        assert_eq!(refused(&other), SqlState::INVALID_PASSWORD);
    }
    for database in ["postgres", "template1", "wiki"] {
        let mut elsewhere = config(&url);
        elsewhere.dbname(database);
        assert_eq!(refused(&elsewhere), SqlState::INSUFFICIENT_PRIVILEGE, "{database}");
    }
    // The role that owns the database is nobody's login.
    for role in session.ask("SELECT rolname::text FROM pg_roles WHERE NOT rolcanlogin").unwrap() {
        let mut owner = config(&url);
        owner.user(&role);
        assert_eq!(refused(&owner), SqlState::INVALID_PASSWORD, "{role}");
    }
}

#[test]
fn nobody_is_trusted() {
    let home = Home::quickstart();
    home.up();
    let postgres = home.state().join("nodes/attic/modules/postgres");
    let url = format!(
        "postgres://postgres:{}@127.0.0.1:{}/postgres",
        home.reveal("attic", "postgres.superuser"),
        home.port("attic", "postgres", "sql")
    );
    let superuser = Session::open(&url).unwrap();
    // As the server reads it, and no other file.
    let methods = superuser.ask("SELECT auth_method FROM pg_hba_file_rules").unwrap();
    assert!(
        !methods.is_empty() && methods.iter().all(|m| m == "scram-sha-256" || m == "reject"),
        "{methods:?}"
    );
    let used: PathBuf = superuser.ask("SHOW hba_file").unwrap()[0].clone().into();
    assert_eq!(used, postgres.join("files/pg_hba.conf"));
    let stored = superuser.ask("SELECT rolpassword FROM pg_authid WHERE rolcanlogin").unwrap();
    assert!(stored.len() >= 2 && stored.iter().all(|s| s.starts_with("SCRAM-SHA-256$")), "{stored:?}");
    let sockets = superuser.ask("SHOW unix_socket_directories").unwrap();
    assert_eq!(sockets, [""]);
}

//! A sentinel as a password, looked for in all that comes out.

use crate::provisioner::consumer;
use crate::server::Server;

#[tokio::test]
async fn neither_password_nor_verifier_is_in_the_servers_log_even_where_a_statement_fails() {
    let server = Server::start(&[
        "log_statement=all",
        "log_min_duration_statement=0",
        "log_min_messages=debug1",
        "log_min_error_statement=debug5",
        "debug_print_parse=on",
        "log_duration=on",
    ]);
    let sentinel = "S3ntinel-of-this-test";
    let file = [consumer("notes", "attic", "notes", &[("a1", sentinel)])];
    server.accepts(&file);
    let admin = server.superuser("template1").await;
    let tampered = "REVOKE \"notes:notes\" FROM notes_attic_db_a1; GRANT notes_attic_db_a1 TO \"notes:notes\"; \
                    ALTER ROLE notes_attic_db_a1 PASSWORD NULL";
    admin.run(tampered).await.unwrap();
    let ran = server.pass();
    let said = format!("{}{:?}", ran.said, ran.answers);
    assert!(ran.code == 1 && said.contains("is a member of role"), "a statement should have failed: {said}");
    let log = server.log();
    assert!(
        log.contains("is a member of role") && log.contains("ALTER ROLE"),
        "the log should tell of it: {log}"
    );
    for text in [&log, &said] {
        assert!(!text.contains(sentinel) && !text.contains("SCRAM-SHA-256$"), "{text}");
    }
}

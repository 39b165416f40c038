//! The command line and its exit codes.

use crate::provisioner::consumer;
use crate::server::Server;

#[test]
fn exits_with_0_1_or_2() {
    let server = Server::initialised(&[]);
    assert_eq!(server.program().arg("--nonsense").output().unwrap().status.code(), Some(2));
    let ran = server.pass();
    assert_eq!(ran.code, 1);
    assert!(ran.said.contains("there is no consumers file"), "{}", ran.said);
}

#[tokio::test]
async fn a_wrong_superuser_password_is_said_without_it() {
    let server = Server::start(&[]);
    server.deliver(&[consumer("notes", "attic", "notes", &[("a1", "one")])]);
    #[expect(clippy::disallowed_methods, reason = "a test may write a file as it likes")]
    std::fs::write(server.folder.path().join("superuser"), "S3ntinel").unwrap();
    let _watching = server.watch();
    server.says("as `postgres`: password authentication failed").await;
    assert!(!server.said().contains("S3ntinel") && server.answers().is_empty());
}

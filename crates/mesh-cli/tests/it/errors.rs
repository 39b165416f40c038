//! What goes wrong where nothing runs: what is said, and how it ends.

use crate::program::{fits, folder, mesh, put};

const CASES: &[&str] = &[
    // Wrong usage.
    "frobnicate",
    "plan --state here --bus nats://127.0.0.1:1 --creds file",
    "status --bus nats://127.0.0.1:1",
    "secret set notes",
    "secret reveal notes.db.password.more --node attic",
    "needs --node Attic",
    "status --timeout 5",
    "apply",
    // Nothing runs here.
    "status",
    "needs --format json",
    "secret list",
    "secret reveal notes.session --node attic",
    "apply --yes",
    "status --state elsewhere",
    // Something ran here, or is not what it should be.
    "status --state gone",
    "status --state broken",
    "status --bus nats://127.0.0.1:1 --creds gone/operator.creds",
    "status --bus nats://127.0.0.1:1 --creds no-such-file",
    // What is not there.
    "check",
    "logs",
    "logs --state gone",
    "logs wiki --node attic --state gone",
    "modules show wiki",
    "explain no-provder",
];

#[test]
fn what_goes_wrong_is_said_with_the_way_out() {
    let folder = folder(
        "\
-- gone/nodes/attic/logs/notes/server.log --
hello
-- gone/bus.json --
{\"v\":1,\"urls\":[\"nats://127.0.0.1:1\"],\"creds\":\"operator.creds\"}
-- broken/bus.json --
{\"v\":2}
",
    );
    put(&folder.path().join("gone/operator.creds"), &creds());
    let mut manual = String::new();
    for case in CASES {
        let ran = mesh(folder.path(), case);
        // The words after a caret are clap's and ours; only ours are held to the width.
        if ran.exit != 2 {
            fits(&ran.err);
        }
        manual.push_str(&format!("$ mesh {case}\n{ran}\n"));
    }
    insta::assert_snapshot!("errors", manual);
}

/// Credentials that no server has ever seen.
fn creds() -> String {
    let folder = tempfile::tempdir().unwrap();
    let authority = mesh_bus::Authority::open(folder.path(), time::OffsetDateTime::now_utc).unwrap();
    let account = "operator=local".parse().unwrap();
    authority.creds(&account).to_text().to_string()
}

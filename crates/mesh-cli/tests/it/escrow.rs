//! Escrow by the command: who waits for what, what is handed over, and that plain `tar` and `age` read it.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::plane::Plane;
use crate::program::{fits, mesh, put, run};

const HOME: &str = "\
-- mesh.yaml --
mesh: home
nodes: {attic: {address: 127.0.0.1}}
assign: {notes: attic}
escrow: []
-- modules/notes/module.yaml --
module: notes
secrets: {session: {}, smtp: {supplied: true}}
run: {server: {exec: [notes], env: {SMTP: '${secret.smtp}', SESSION: '${secret.session}'}}}
";
const SENTINEL: &str = "s3ntinel-$x${y}#'\"\\ é\nand a second line";

fn name(home: &Path, recipients: &[&str]) {
    let yaml = "mesh: home\nnodes: {attic: {address: 127.0.0.1}}\nassign: {notes: attic}\n";
    put(&home.join("mesh.yaml"), &format!("{yaml}escrow: [{}]\n", recipients.join(", ")));
}

/// Debian's own program: whoever has nothing but this can read what was handed over.
fn age(program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{program}: {error}; `cargo xtask setup` installs it"))
}

/// A pair of keys: the file with the private one, and the public one.
fn keygen(folder: &Path, file: &str) -> (String, String) {
    let key = folder.join(file).to_str().unwrap().to_owned();
    assert!(age("age-keygen", &["-o", &key]).status.success());
    let public = String::from_utf8(age("age-keygen", &["-y", &key]).stdout).unwrap();
    (key, public.trim().to_owned())
}

/// Hands over into a file; returns what was said.
fn escrow(home: &Path, into: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mesh"));
    command.args(["secret", "escrow"]).current_dir(home).stdin(Stdio::null());
    let output = command.stdout(File::create(into).unwrap()).stderr(Stdio::piped()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !is_so() {
        assert!(std::time::Instant::now() < end, "it does not come to be so: {what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_handed_over_opens_with_age_alone() {
    let plane = Plane::start(HOME).await;
    plane.join("attic").await;
    let plane = tokio::task::spawn_blocking(move || {
        let home = plane.home.path().to_owned();
        let keys = tempfile::tempdir().unwrap();
        let ((key, public), (_, other)) = (keygen(keys.path(), "key.txt"), keygen(keys.path(), "other.txt"));
        let archive = keys.path().join("escrow.tar");
        let (exit, said) = escrow(&home, &archive);
        assert!(exit == Some(1) && said.contains("no recipient of escrow is confirmed"), "{said}");

        // Named alone, it waits, and everybody is told.
        name(&home, &[&public]);
        for words in ["plan", "apply --yes"] {
            let told = mesh(&home, words);
            assert!(told.to_string().contains(&format!("mesh secret confirm-escrow {public}")), "{told}");
        }
        let waits = mesh(&home, "plan --format json").json();
        assert_eq!(
            (&waits["escrow"][0]["recipient"], &waits["escrow"][0]["state"]),
            (&public.as_str().into(), &"waiting".into())
        );
        until("the session secret is made", || mesh(&home, "secret list").out.contains("live"));
        let (exit, said) = escrow(&home, &archive);
        assert!(exit == Some(1) && said.contains("confirm-escrow"), "{said}");

        // Confirmed late, it opens what comes then; what it cannot open is named, with what makes it anew.
        let elsewhere = mesh(keys.path(), &format!("secret confirm-escrow {public}"));
        assert!(
            elsewhere.exit == 1 && elsewhere.err.contains("does not hold the server's keys"),
            "{elsewhere}"
        );
        assert!(!keys.path().join(".mesh").exists(), "nothing is made");
        let confirmed = mesh(&home, &format!("secret confirm-escrow {public}"));
        assert!(confirmed.exit == 0 && confirmed.err.contains("attic.notes.secret.session"), "{confirmed}");
        until("the vault seals to it", || !mesh(&home, "plan").out.contains("waits"));
        let set = run(&home, &["secret", "set", "notes.smtp"], SENTINEL);
        assert_eq!(set.exit, 0, "{set}");
        let plan = mesh(&home, "plan");
        assert!(
            plan.out.contains("cannot open")
                && plan.out.contains("mesh secret rotate notes.session --node attic"),
            "{plan}"
        );
        assert!(!plan.out.contains("notes.smtp"), "{plan}");
        fits(&plan.out);
        let list = mesh(&home, "secret list");
        assert!(list.out.contains("attic, escrow"), "{list}");

        let (exit, said) = escrow(&home, &archive);
        assert_eq!(exit, Some(0), "{said}");
        assert!(
            said.contains(&format!("{public}: 1 of 2 secrets")) && said.contains("notes.session"),
            "{said}"
        );
        assert!(!said.contains("s3ntinel"));
        let tar = Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(keys.path()).status().unwrap();
        assert!(tar.success());
        let sealed = keys.path().join(format!("home-escrow/{public}/attic/notes/secret.smtp.v1.age"));
        let opened = age("age", &["-d", "-i", &key, sealed.to_str().unwrap()]);
        let opened: Value = serde_json::from_slice(&opened.stdout).unwrap();
        assert_eq!(opened["secrets"]["value"], SENTINEL);
        assert_eq!(
            [&opened["mesh"], &opened["node"], &opened["module"], &opened["name"], &opened["origin"]],
            ["home", "attic", "notes", "secret.smtp", "supplied"]
        );
        let listed = mesh(&home, "secret list --format json").json();
        let smtp =
            listed["entries"].as_array().unwrap().iter().find(|one| one["name"] == "secret.smtp").unwrap();
        assert_eq!(opened["id"], smtp["versions"][0]["id"], "it says which it is");

        // Another in its place is told for both.
        name(&home, &[&other]);
        let plan = mesh(&home, "plan --format json").json();
        let states: Vec<_> =
            plan["escrow"].as_array().unwrap().iter().map(|one| (&one["recipient"], &one["state"])).collect();
        let (public, other): (Value, Value) = (public.into(), other.into());
        assert_eq!(states, [(&other, &"waiting".into()), (&public, &"left-out".into())]);
        plane
    });
    plane.await.unwrap().stop().await;
}

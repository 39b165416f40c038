//! A provider and its only consumer that are taken out in one apply: the consumer is let in no more before the provider stops.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::quickstart::home::Home;
use crate::quickstart::until;

#[test]
fn a_consumer_is_let_in_no_more_before_its_provider_stops() {
    let home = Home::quickstart();
    home.up();
    home.browser().write("kept without a server");
    let [server, provisioner, notes] = home.services();
    let data = home.state().join("nodes/attic/modules/postgres/dirs/data/cluster");

    home.edit("mesh.yaml", "postgres: attic ", "# postgres: attic ");
    home.edit("mesh.yaml", "notes: cellar ", "# notes: cellar ");
    home.edit("mesh.yaml", "notes: {title: Our notes}", "{}");
    let ran = home.mesh("apply --yes --wait --timeout 90");
    assert_eq!(ran.exit, 0, "{ran}\n{}", home.log());
    until("all of it has stopped", || {
        [&server, &provisioner, &notes].iter().all(|process| !process.runs()).then_some(())
    });

    // The server was stopped with its door shut: what is on its disk lets nobody in but its own superuser.
    assert_eq!(
        alone(&data, "SELECT rolname FROM pg_roles WHERE rolcanlogin"),
        ["postgres"],
        "{}",
        home.log()
    );
    assert_eq!(alone(&data, "SELECT datname FROM pg_database WHERE datname = 'notes'"), ["notes"]);
    for bucket in ["mesh-controller_assignments", "mesh-controller_config", "mesh-provisioner_applied"] {
        until(&format!("{bucket} is empty"), || home.buckets().whole(bucket).is_empty().then_some(()));
    }

    home.edit("mesh.yaml", "# postgres: attic ", "postgres: attic ");
    home.edit("mesh.yaml", "# notes: cellar ", "notes: cellar ");
    home.apply();
    let mut browser = home.browser();
    browser.well();
    assert!(browser.page().contains("kept without a server"));
}

/// What a query answers of a data folder whose server does not run: PostgreSQL itself reads it, and serves nobody else.
fn alone(data: &Path, query: &str) -> Vec<String> {
    let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(data).unwrap());
    let mut command = Command::new("/usr/lib/postgresql/15/bin/postgres");
    command
        .args(["--single", "-j", "-D"])
        .arg(data)
        .arg("postgres")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    std::os::unix::process::CommandExt::uid(&mut command, owner);
    let mut single = command.spawn().unwrap();
    single.stdin.take().unwrap().write_all(format!("{query};\n\n").as_bytes()).unwrap();
    let output = single.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    // A row is told as ` 1: rolname = "postgres"	(typeid = …)`, below one that only names the columns.
    let value = |line: &str| Some(line.split_once(" = \"")?.1.split_once('"')?.0.to_owned());
    said.lines().filter_map(value).collect()
}

//! From `mesh up` on an empty state to all applied, against a shell script that makes the same PostgreSQL by hand.
//!
//! By turns, a folder of its own each: `mesh up --detach` of the quickstart, to its end; and `initdb`, start, `createuser`,
//! `createdb` of the same PostgreSQL. `startup [ROUNDS]`, 5 where it is left out. As root.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures, prints, and fails where it cannot"
)]

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Instant;

use mesh_benches::{quantile, quickstart};

/// What somebody would do by hand. `$1` is an empty folder that `postgres` may write.
const SCRIPT: &str = r#"
set -e
bin=/usr/lib/postgresql/15/bin
echo superuser-of-this-measurement > "$1/password"
$bin/initdb -D "$1/data" -U postgres -E UTF8 --locale=C.UTF-8 --auth-host=scram-sha-256 \
    --auth-local=scram-sha-256 --pwfile="$1/password" > "$1/log"
$bin/pg_ctl -D "$1/data" -w -l "$1/log" -o "-p $2 -c listen_addresses=127.0.0.1 -c unix_socket_directories=$1" start >> "$1/log"
export PGPASSWORD=superuser-of-this-measurement PGHOST=127.0.0.1 PGPORT=$2 PGUSER=postgres
$bin/createuser notes
$bin/createdb -O notes notes
"#;

fn main() {
    let rounds = std::env::args().nth(1).map_or(5, |text| text.parse().expect("a number"));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        if round % 2 == 0 {
            ours.push(by_mesh());
            theirs.push(by_script());
        } else {
            theirs.push(by_script());
            ours.push(by_mesh());
        }
        println!("round {}: mesh {:.2} s, script {:.2} s", round + 1, ours[round], theirs[round]);
    }
    let mut more: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours - theirs).collect();
    let (ours, theirs) = (quantile(&mut ours, 0.5), quantile(&mut theirs, 0.5));
    println!("mesh up on an empty state, to all applied     {ours:>6.2} s (median of {rounds})");
    println!("initdb, start, createuser, createdb by script {theirs:>6.2} s");
    println!(
        "more                                          {:>6.2} s (goal: at most 2)",
        quantile(&mut more, 0.5)
    );
}

fn by_mesh() -> f64 {
    let quickstart = quickstart();
    let begun = Instant::now();
    quickstart.mesh(&["up", "--detach"]);
    begun.elapsed().as_secs_f64()
}

fn by_script() -> f64 {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let as_postgres = |script: &str| {
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid",
            "postgres",
            "--regid",
            "postgres",
            "--init-groups",
            "sh",
            "-c",
            script,
            "sh",
        ]);
        command.arg(folder.path()).arg(port.to_string());
        assert!(command.status().unwrap().success());
    };
    let begun = Instant::now();
    as_postgres(SCRIPT);
    let took = begun.elapsed().as_secs_f64();
    as_postgres("/usr/lib/postgresql/15/bin/pg_ctl -D \"$1/data\" -m immediate stop > /dev/null");
    took
}

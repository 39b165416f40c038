//! A thousand consumers of one PostgreSQL: `mesh-postgres-provisioner` against a hand-written SQL script.
//!
//! Both make the same roles and databases, each on a cluster of its own, by turns, with fsync as it is by default. Then,
//! for the provisioner alone: a pass after one change, a start with everything to be proved anew, and what it costs
//! while there is nothing to do. Takes minutes and 7.3 MB of disk a consumer; the folder is `TMPDIR`'s.
//!
//! `postgres_consumers [CONSUMERS] [ROUNDS]`, 1,000 and 1 where they are left out. It looks for the provisioner beside
//! itself, so both are built in the same profile.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures, prints, and fails where it cannot"
)]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

const BIN: &str = "/usr/lib/postgresql/15/bin";
const PASSWORD: &str = "superuser-of-this-measurement";

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|text| text.parse().expect("a number")).collect();
    let consumers = numbers.first().copied().unwrap_or(1000);
    let rounds = numbers.get(1).copied().unwrap_or(1);
    for round in 0..rounds {
        // By turns, so that neither always finds the disk as the other left it.
        let (script, ours) = if round % 2 == 0 {
            let script = by_script(consumers);
            (script, by_provisioner(consumers))
        } else {
            let ours = by_provisioner(consumers);
            (by_script(consumers), ours)
        };
        let ratio = ours.first.as_secs_f64() / script.as_secs_f64();
        println!("{consumers} consumers, round {}", round + 1);
        println!("  first pass, by a script through psql   {:>9.2} s", script.as_secs_f64());
        println!(
            "  first pass, by the provisioner         {:>9.2} s   ratio {ratio:.2} (goal: at most 1.2)",
            ours.first.as_secs_f64()
        );
        println!("  started again, all proved anew         {:>9.2} s", ours.again.as_secs_f64());
        println!(
            "  one more consumer, file to answer      {:>9.0} ms (median of {})",
            millis(&ours.added),
            ours.added.len()
        );
        println!(
            "  one less, file to no login              {:>9.0} ms (median of {})",
            millis(&ours.removed),
            ours.removed.len()
        );
        println!("  nothing to do, for 20 s                {:>9.2} % of a core", ours.idle * 100.0);
    }
}

/// What was measured of the provisioner.
struct Ours {
    first: Duration,
    again: Duration,
    added: Vec<Duration>,
    removed: Vec<Duration>,
    idle: f64,
}

fn by_script(consumers: usize) -> Duration {
    let server = Server::start();
    let mut script = String::from("BEGIN;\n");
    for i in 0..consumers {
        writeln!(script, "CREATE ROLE \"m{i}:m{i}\" NOLOGIN;").unwrap();
        writeln!(script, "CREATE ROLE m{i}_n_db_a1 LOGIN PASSWORD '{}' IN ROLE \"m{i}:m{i}\";", password(i))
            .unwrap();
        writeln!(script, "ALTER ROLE m{i}_n_db_a1 SET role = 'm{i}:m{i}';").unwrap();
    }
    script.push_str("COMMIT;\n");
    for i in 0..consumers {
        writeln!(script, "CREATE DATABASE m{i} OWNER \"m{i}:m{i}\";").unwrap();
        writeln!(script, "REVOKE CONNECT ON DATABASE m{i} FROM PUBLIC;").unwrap();
    }
    write(&server.path("script.sql"), &script);
    let started = Instant::now();
    let file = server.path("script.sql");
    let done = server.psql().args(["-q", "-v", "ON_ERROR_STOP=1", "-f"]).arg(file).status().unwrap();
    assert!(done.success());
    started.elapsed()
}

fn by_provisioner(consumers: usize) -> Ours {
    let server = Server::start();
    let mut all: Vec<Value> = (0..consumers).map(consumer).collect();
    server.deliver(&all);
    let once = || {
        let started = Instant::now();
        let done = server.provisioner().status().unwrap();
        assert!(done.success());
        started.elapsed()
    };
    let first = once();
    let again = once();
    let watching = Running(server.provisioner().arg("--watch").spawn().unwrap());
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for i in consumers..consumers + 5 {
        all.push(consumer(i));
        added.push(server.answered(&all, i));
    }
    for i in (consumers..consumers + 5).rev() {
        all.pop();
        removed.push(server.withdrawn(&all, i));
    }
    std::thread::sleep(Duration::from_secs(3));
    let cpu = watching.cpu();
    std::thread::sleep(Duration::from_secs(20));
    let idle = (watching.cpu() - cpu) / 20.0;
    Ours { first, again, added, removed, idle }
}

fn password(i: usize) -> String {
    format!("{i:032}")
}

fn consumer(i: usize) -> Value {
    json!({"node":"n","module":format!("m{i}"),"local":"db","machine":{"name":"n","address":"127.0.0.1"},
           "contribution":{"name":format!("m{i}")},"revision":"1",
           "credentials":[{"id":"a1","secrets":{"password":password(i)}}]})
}

fn millis(all: &[Duration]) -> f64 {
    let mut all = all.to_vec();
    all.sort();
    all[all.len() / 2].as_secs_f64() * 1000.0
}

#[expect(clippy::disallowed_methods, reason = "nobody reads it meanwhile")]
fn write(path: &PathBuf, text: &str) {
    fs::write(path, text).unwrap();
}

/// A PostgreSQL of its own, gone with the measurement.
struct Server {
    folder: TempDir,
    port: u16,
    server: Running,
}

/// A program that ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Seconds of CPU so far.
    fn cpu(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: u32 = fields[11..=12].iter().map(|ticks| ticks.parse::<u32>().unwrap()).sum();
        f64::from(ticks) / 100.0
    }
}

/// PostgreSQL does not run as root.
fn program(name: &str) -> Command {
    let path = PathBuf::from(BIN).join(name);
    if !rustix::process::geteuid().is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig=KILL", "--"])
        .arg(path);
    command
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if rustix::process::geteuid().is_root() {
            let id = Command::new("id").args(["-u", "postgres"]).output().unwrap().stdout;
            chown(folder.path(), Some(String::from_utf8(id).unwrap().trim().parse().unwrap()), None).unwrap();
        }
        let (data, password) = (folder.path().join("data"), folder.path().join("superuser"));
        write(&password, PASSWORD);
        let mut initdb = program("initdb");
        initdb.args(["-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--auth=scram-sha-256", "-D"]);
        let made = initdb.arg(&data).arg("--pwfile").arg(&password).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut postgres = program("postgres");
        postgres.arg("-D").arg(&data).args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        postgres.args(["-c", "unix_socket_directories="]).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Running(postgres.spawn().unwrap());
        let server = Self { folder, port, server };
        while !server.psql().args(["-c", "SELECT 1"]).output().unwrap().status.success() {
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn psql(&self) -> Command {
        let mut psql = Command::new(PathBuf::from(BIN).join("psql"));
        psql.env("PGPASSWORD", PASSWORD);
        psql.args([
            "-X",
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-p",
            &self.port.to_string(),
            "-d",
            "template1",
        ]);
        psql
    }

    fn provisioner(&self) -> Command {
        let program = std::env::current_exe().unwrap().with_file_name("mesh-postgres-provisioner");
        let mut command = Command::new(program);
        command.arg("--consumers").arg(self.path("consumers.json"));
        command.arg("--answers").arg(self.path("answers.json"));
        command.arg("--superuser-password-file").arg(self.path("superuser"));
        command.args(["--host", "127.0.0.1", "--port", &self.port.to_string()]);
        command.stderr(Stdio::null());
        command
    }

    fn deliver(&self, consumers: &[Value]) {
        let provider = json!({"node":"n","module":"postgres"});
        let file = json!({"v":1,"provision":"postgres-database","provider":provider,"consumers":consumers});
        write(&self.path("new"), &file.to_string());
        fs::rename(self.path("new"), self.path("consumers.json")).unwrap();
    }

    /// From the file's replacement until consumer `i` is answered, its login proved.
    fn answered(&self, consumers: &[Value], i: usize) -> Duration {
        let answer = format!("\"m{i}\"");
        self.until(consumers, || {
            fs::read_to_string(self.path("answers.json")).unwrap_or_default().contains(&answer)
        })
    }

    /// From the file's replacement until the login of consumer `i` is gone, as far as a psql started anew each time sees.
    fn withdrawn(&self, consumers: &[Value], i: usize) -> Duration {
        let count = format!("SELECT count(*) FROM pg_roles WHERE rolname = 'm{i}_n_db_a1'");
        self.until(consumers, || self.psql().args(["-Atc", &count]).output().unwrap().stdout == b"0\n")
    }

    fn until(&self, consumers: &[Value], done: impl Fn() -> bool) -> Duration {
        let started = Instant::now();
        self.deliver(consumers);
        while !done() {
            assert!(started.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(1));
        }
        started.elapsed()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Before its folder goes.
        let _ = self.server.0.kill();
        let _ = self.server.0.wait();
    }
}

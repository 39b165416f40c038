//! A PostgreSQL of the test's own: in a temporary folder, on a free port of loopback, gone with the test.

use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::wait_until;

pub(crate) const PASSWORD: &str = "p@s/s:w?rd#%";
const ENCODED: &str = "p%40s%2Fs%3Aw%3Frd%23%25";

pub(crate) struct Postgres {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    server: Option<Child>,
}

impl Postgres {
    pub(crate) fn start() -> Postgres {
        let folder = tempfile::tempdir().unwrap();
        // Its user has to reach it, and to make the data folder in it.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut postgres = Postgres { programs: programs(), folder, port, server: None };
        postgres.make_cluster();
        postgres.restart();
        postgres
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres:{ENCODED}@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) fn run(&self, sql: &str) {
        let asked = self.psql(sql);
        assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    }

    /// Ends the server as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.server.take().expect("it runs").kill_and_wait();
    }

    pub(crate) fn restart(&mut self) {
        // What the killed one left (its children, their memory) goes a moment later than itself: try until it is gone.
        wait_until("PostgreSQL answers", || {
            let ended = self.server.as_mut().is_none_or(|server| server.try_wait().unwrap().is_some());
            if ended {
                self.server = Some(self.spawn());
            }
            self.psql("SELECT 1").status.success()
        });
    }

    fn make_cluster(&self) {
        let password = self.folder.path().join("password");
        let mut file = std::fs::File::create(&password).unwrap();
        writeln!(file, "{PASSWORD}").unwrap();
        let made = self
            .as_its_user("initdb")
            .args(["-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--auth=scram-sha-256"])
            .arg("-D")
            .arg(self.data())
            .arg("--pwfile")
            .arg(&password)
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
    }

    fn spawn(&self) -> Child {
        self.as_its_user("postgres")
            .arg("-D")
            .arg(self.data())
            .args([
                "-p",
                &self.port.to_string(),
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "unix_socket_directories=",
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn psql(&self, sql: &str) -> std::process::Output {
        Command::new(self.programs.join("psql"))
            .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql, &self.url()])
            .output()
            .unwrap()
    }

    fn as_its_user(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            // Should the test itself be killed, the server goes with it.
            command
                .args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig=INT"])
                .arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.folder.path());
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        // SIGQUIT: at once, its children first.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&server),
            rustix::process::Signal::QUIT,
        );
        let _ = server.wait();
    }
}

trait KillAndWait {
    fn kill_and_wait(self);
}

impl KillAndWait for Child {
    fn kill_and_wait(mut self) {
        self.kill().unwrap();
        self.wait().unwrap();
    }
}

/// Debian keeps each version's programs in a folder of its own; elsewhere they are on the PATH.
fn programs() -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path().join("bin"))
        .filter(|folder| folder.join("initdb").exists())
        .collect();
    found.sort();
    #[expect(clippy::disallowed_methods, reason = "a test looks for its server where the machine has it")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.extend(std::env::split_paths(&path).filter(|folder| folder.join("initdb").exists()));
    found.into_iter().next().unwrap_or_else(|| {
        panic!(
            "PostgreSQL's programs are neither in {} nor on the PATH",
            Path::new("/usr/lib/postgresql").display()
        )
    })
}

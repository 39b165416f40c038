//! A PostgreSQL of its own for each test: a free port, a temporary folder, gone with the test.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_postgres::{Client, Config, NoTls};

/// Of the superuser.
pub(crate) const PASSWORD: &str = "superuser-of-this-test-alone";

/// One server.
pub(crate) struct Server {
    pub(crate) folder: TempDir,
    pub(crate) port: u16,
    settings: Vec<String>,
    child: Option<Child>,
}

/// A session, which ends when it is dropped.
pub(crate) struct Session {
    pub(crate) client: Client,
    _driver: JoinSet<()>,
}

/// The folder of PostgreSQL's programs; Debian's, unless it is said.
fn programs() -> PathBuf {
    option_env!("MESH_POSTGRES_BIN").unwrap_or("/usr/lib/postgresql/15/bin").into()
}

/// A program of PostgreSQL's, which does not run as root, and ends with the thread that started it.
fn program(name: &str) -> Command {
    let path = programs().join(name);
    if !rustix::process::geteuid().is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig=KILL", "--"])
        .arg(path);
    command
}

/// Makes the folder one that the server's user may read and write.
fn hand_over(folder: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let id = Command::new("id").args(["-u", "postgres"]).output().unwrap().stdout;
    let user = String::from_utf8(id).unwrap().trim().parse().unwrap();
    chown(folder, Some(user), None).unwrap();
}

impl Server {
    /// A server that is up.
    pub(crate) fn start(settings: &[&str]) -> Self {
        let mut server = Self::initialised(settings);
        server.up();
        server
    }

    /// A server that is not up yet.
    pub(crate) fn initialised(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        hand_over(folder.path());
        let password = folder.path().join("superuser");
        #[expect(clippy::disallowed_methods, reason = "a test may write a file as it likes")]
        fs::write(&password, format!("{PASSWORD}\n")).unwrap();
        let made = program("initdb")
            .args([
                "-U",
                "postgres",
                "-E",
                "UTF8",
                "--locale=C.UTF-8",
                "--auth=scram-sha-256",
                "--no-sync",
                "-D",
            ])
            .arg(folder.path().join("data"))
            .arg("--pwfile")
            .arg(&password)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        Self { folder, port, settings, child: None }
    }

    /// Starts it, and waits until it answers.
    pub(crate) fn up(&mut self) {
        let log = fs::File::options().create(true).append(true).open(self.log_path()).unwrap();
        let mut command = program("postgres");
        command.arg("-D").arg(self.folder.path().join("data")).args(["-p", &self.port.to_string()]);
        command.args([
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            "-c",
            "fsync=off",
        ]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        self.child = Some(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
        let started = Instant::now();
        let ready =
            || program("pg_isready").args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]).status();
        while !ready().unwrap().success() {
            assert!(started.elapsed() < Duration::from_secs(30), "{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// As the power cut does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// All that it logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// A session, or what the server says instead.
    pub(crate) async fn log_in(&self, user: &str, password: &str, database: &str) -> Result<Session, String> {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.port).user(user).password(password).dbname(database);
        let (client, connection) = config.connect(NoTls).await.map_err(|error| said(&error))?;
        let mut driver = JoinSet::new();
        driver.spawn(async move { drop(connection.await) });
        Ok(Session { client, _driver: driver })
    }

    /// A superuser's session.
    pub(crate) async fn superuser(&self, database: &str) -> Session {
        self.log_in("postgres", PASSWORD, database).await.unwrap()
    }

    /// One value, as text, that the superuser asks for.
    pub(crate) async fn ask(&self, query: &str) -> String {
        self.superuser("template1").await.ask(query).await
    }
}

impl Session {
    /// Runs statements, or says what the server says instead.
    pub(crate) async fn run(&self, statements: &str) -> Result<(), String> {
        self.client.batch_execute(statements).await.map_err(|error| said(&error))
    }

    /// One value, as text.
    pub(crate) async fn ask(&self, query: &str) -> String {
        let messages = self.client.simple_query(query).await.unwrap();
        let rows = messages.iter().filter_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
            _ => None,
        });
        rows.collect::<Vec<_>>().join(",")
    }

    /// Whether the server ended it, within two seconds.
    pub(crate) async fn ends(&self) -> bool {
        let started = Instant::now();
        while !self.client.is_closed() && started.elapsed() < Duration::from_secs(2) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.client.is_closed()
    }
}

fn said(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| format!("{error:?}"), |said| said.message().to_owned())
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

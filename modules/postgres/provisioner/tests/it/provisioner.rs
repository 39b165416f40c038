//! The program beside a server: its two files, run once or watching.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::Server;

/// How long anything may take that has to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a run came to.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) answers: BTreeMap<String, Value>,
    pub(crate) said: String,
}

/// A program that watches, until it is dropped.
pub(crate) struct Watching(Child);

/// A consumer of `database`, with credentials by id and password, the newest last.
pub(crate) fn consumer(module: &str, node: &str, database: &str, credentials: &[(&str, &str)]) -> Value {
    let credentials: Vec<_> =
        credentials.iter().map(|(id, password)| json!({"id":id,"secrets":{"password":password}})).collect();
    json!({"node":node,"module":module,"local":"db","machine":{"name":node,"address":"192.168.1.11"},
           "contribution":{"name":database},"revision":"4be1","credentials":credentials})
}

impl Server {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Replaces the consumers file, as a node does.
    pub(crate) fn deliver(&self, consumers: &[Value]) {
        let provider = json!({"node":"attic","module":"postgres"});
        let file = json!({"v":1,"provision":"postgres-database","provider":provider,"consumers":consumers});
        self.deliver_text(&file.to_string());
    }

    /// Replaces the consumers file by whatever.
    pub(crate) fn deliver_text(&self, text: &str) {
        #[expect(clippy::disallowed_methods, reason = "a test may write a file as it likes")]
        fs::write(self.path("new"), text).unwrap();
        fs::rename(self.path("new"), self.path("consumers.json")).unwrap();
    }

    pub(crate) fn withdraw_file(&self) {
        fs::remove_file(self.path("consumers.json")).unwrap();
    }

    /// The program, with all that it needs but how to run.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mesh-postgres-provisioner"));
        command.arg("--consumers").arg(self.path("consumers.json"));
        command.arg("--answers").arg(self.path("answers.json"));
        command.arg("--superuser-password-file").arg(self.path("superuser"));
        command.args(["--host", "192.168.1.10", "--port", &self.port.to_string()]);
        command
    }

    /// One pass over what was delivered.
    pub(crate) fn pass(&self) -> Ran {
        let output = self.program().output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ran { code: output.status.code().unwrap(), answers: self.answers(), said }
    }

    /// Delivers and passes, and all must be accepted.
    pub(crate) fn accepts(&self, consumers: &[Value]) -> Ran {
        self.deliver(consumers);
        let ran = self.pass();
        assert_eq!(ran.code, 0, "{}\n{:#?}", ran.said, ran.answers);
        ran
    }

    /// What was answered, by `module@node`.
    pub(crate) fn answers(&self) -> BTreeMap<String, Value> {
        let Ok(text) = fs::read_to_string(self.path("answers.json")) else { return BTreeMap::new() };
        let file: Value = serde_json::from_str(&text).unwrap();
        let answers = file["answers"].as_array().unwrap();
        let key = |answer: &Value| {
            format!("{}@{}", answer["module"].as_str().unwrap(), answer["node"].as_str().unwrap())
        };
        answers.iter().map(|answer| (key(answer), answer.clone())).collect()
    }

    /// Starts the program with `--watch`.
    pub(crate) fn watch(&self) -> Watching {
        let said = fs::File::options().create(true).append(true).open(self.path("said")).unwrap();
        Watching(self.program().arg("--watch").stderr(said).stdout(Stdio::null()).spawn().unwrap())
    }

    /// What the watching program has said.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.path("said")).unwrap_or_default()
    }

    /// Waits until the answers are as they should be.
    pub(crate) async fn answers_until(&self, good: impl Fn(&BTreeMap<String, Value>) -> bool) {
        let started = Instant::now();
        while !good(&self.answers()) {
            assert!(started.elapsed() < PATIENCE, "{:#?}\n{}", self.answers(), self.said());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until the watching program has said it.
    pub(crate) async fn says(&self, what: &str) {
        self.says_after("", what).await;
    }

    /// Waits until the watching program has said it after the last time that it said something else.
    pub(crate) async fn says_after(&self, other: &str, what: &str) {
        let started = Instant::now();
        let since = |said: &str| said.rfind(other).filter(|_| !other.is_empty()).unwrap_or_default();
        while !self.said()[since(&self.said())..].contains(what) {
            assert!(started.elapsed() < PATIENCE, "`{what}` was not said:\n{}", self.said());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until a query of the superuser's has this answer.
    pub(crate) async fn ask_until(&self, query: &str, answer: &str) {
        let started = Instant::now();
        loop {
            let is = self.ask(query).await;
            if is == answer {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{query}: {is}\n{}", self.said());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Watching {
    /// As `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// As a host does; returns the exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

//! The program beside a store: its two files, run once or watching.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::store::{ADMIN, Store, write};

/// How long anything may take that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a run came to.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) answers: BTreeMap<String, Value>,
    pub(crate) said: String,
}

/// A program that watches, until it is dropped.
pub(crate) struct Watching(Child);

/// A consumer of a bucket, with credentials by id and secret key, the newest last.
pub(crate) fn consumer(module: &str, node: &str, bucket: &str, credentials: &[(&str, &str)]) -> Value {
    let credentials: Vec<_> =
        credentials.iter().map(|(id, secret)| json!({"id":id,"secrets":{"secret_key":secret}})).collect();
    json!({"node":node,"module":module,"local":"files","machine":{"name":node,"address":"192.168.1.11"},
           "contribution":{"name":bucket},"revision":"4be1","credentials":credentials})
}

impl Store {
    /// Replaces the consumers file, as a node does.
    pub(crate) fn deliver(&self, consumers: &[Value]) {
        let provider = json!({"node":"attic","module":"object-store"});
        let file = json!({"v":1,"provision":"s3-bucket","provider":provider,"consumers":consumers});
        write(&self.path("new"), &file.to_string());
        fs::rename(self.path("new"), self.path("consumers.json")).unwrap();
    }

    fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mesh-object-store-provisioner"));
        command.arg("provision").arg("--consumers").arg(self.path("consumers.json"));
        command.arg("--answers").arg(self.path("answers.json")).arg("--home").arg(self.path("home"));
        command.arg("--admin-secret-file").arg(self.path("admin-secret")).args(["--admin", ADMIN.0]);
        command.arg("--filer-key-file").arg(self.path("filer-key"));
        command.args(["--endpoint", "http://192.168.1.10:9000"]);
        command.args(["--s3", &format!("http://127.0.0.1:{}", self.s3())]);
        command.args(["--filer", &format!("127.0.0.1:{}", self.filer())]);
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
        assert_eq!(ran.code, 0, "{}\n{:#?}\n{}", ran.said, ran.answers, self.log());
        ran
    }

    /// What was answered, by `module@node`.
    pub(crate) fn answers(&self) -> BTreeMap<String, Value> {
        let Ok(text) = fs::read_to_string(self.path("answers.json")) else { return BTreeMap::new() };
        let file: Value = serde_json::from_str(&text).unwrap();
        let key = |answer: &Value| {
            format!("{}@{}", answer["module"].as_str().unwrap(), answer["node"].as_str().unwrap())
        };
        file["answers"].as_array().unwrap().iter().map(|answer| (key(answer), answer.clone())).collect()
    }

    /// The access key that somebody was answered.
    pub(crate) fn key(&self, who: &str) -> String {
        self.answers()[who]["values"]["access_key"].as_str().unwrap().to_owned()
    }

    /// Starts the program with `--watch`.
    pub(crate) fn watch(&self) -> Watching {
        let said = fs::File::options().create(true).append(true).open(self.path("said")).unwrap();
        Watching(self.program().arg("--watch").stderr(said).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Waits until somebody is answered.
    pub(crate) async fn answers_for(&self, who: &str) {
        let started = Instant::now();
        while self.answers().get(who).is_none_or(|answer| answer["credential"].is_null()) {
            let said = fs::read_to_string(self.path("said")).unwrap_or_default();
            assert!(started.elapsed() < PATIENCE, "{:#?}\n{said}\n{}", self.answers(), self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
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

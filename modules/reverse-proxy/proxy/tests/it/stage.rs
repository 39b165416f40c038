//! A proxy with its two files, in a folder of the test's own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::JoinHandle;

use mesh_reverse_proxy::{Config, Disclose, Limits, Proxy, Public};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::client::{Answer, Client};
use crate::until;

/// A proxy that runs until it is dropped.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
}

/// A consumer: `module@node`, the name that it asks for, and its port on this machine.
pub(crate) struct Consumer<'t> {
    pub(crate) who: &'t str,
    pub(crate) name: &'t str,
    pub(crate) port: u16,
    pub(crate) scheme: &'t str,
}

/// A consumer of an HTTP/1 target.
pub(crate) fn consumer<'t>(who: &'t str, name: &'t str, port: u16) -> Consumer<'t> {
    Consumer { who, name, port, scheme: "http" }
}

impl Stage {
    /// With no route.
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// With something else than usual.
    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let mut config = Config {
            consumers: file("consumers.json"),
            answers: file("answers.json"),
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            public: Public { scheme: "http", port: Some(8080) },
            disclose: Disclose::Names,
            workers: 2,
            limits: Limits::default(),
        };
        change(&mut config);
        let proxy = Proxy::bind(config).unwrap();
        let address = proxy.addresses()[0];
        let (stop, stopped) = oneshot::channel();
        let running = std::thread::spawn(move || {
            let shutdown = async { drop(stopped.await) };
            proxy.run(shutdown).unwrap();
        });
        let stage = Self { folder, address, stop: Some(stop), running: Some(running) };
        stage.serve(&[]);
        until("it knows that there is nothing", || stage.file("answers.json").exists().then_some(()));
        stage
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Replaces the consumers file.
    pub(crate) fn write(&self, consumers: &[Consumer<'_>]) {
        self.write_text(&file(consumers).to_string());
    }

    /// Replaces the consumers file by anything.
    #[expect(clippy::disallowed_methods, reason = "it is renamed when it is whole")]
    pub(crate) fn write_text(&self, text: &str) {
        let new = self.file("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.file("consumers.json")).unwrap();
    }

    /// Replaces the consumers file, and waits until everybody in it is answered.
    pub(crate) fn serve(&self, consumers: &[Consumer<'_>]) -> Vec<Value> {
        self.write(consumers);
        let revisions: Vec<String> = consumers.iter().map(revision).collect();
        until("all are answered", || {
            let answers = self.answers();
            let answered: Vec<&str> =
                answers.iter().map(|answer| answer["revision"].as_str().unwrap()).collect();
            let all =
                answered.len() == revisions.len() && revisions.iter().all(|r| answered.contains(&r.as_str()));
            all.then_some(answers)
        })
    }

    /// What is answered now.
    pub(crate) fn answers(&self) -> Vec<Value> {
        let text = std::fs::read(self.file("answers.json")).unwrap_or_default();
        let answers: Value = serde_json::from_slice(&text).unwrap_or_default();
        answers["answers"].as_array().cloned().unwrap_or_default()
    }

    /// A connection to it.
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    /// What is answered to a `GET`, on a connection of its own.
    pub(crate) fn get(&self, host: &str, path: &str) -> Answer {
        self.client().get(host, path)
    }

    /// Asks it to stop, and does not wait.
    pub(crate) fn ask_to_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until it has stopped.
    pub(crate) fn stopped(&mut self) {
        self.running.take().unwrap().join().unwrap();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.ask_to_stop();
        if let Some(running) = self.running.take() {
            let ended = running.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

fn revision(consumer: &Consumer<'_>) -> String {
    let Consumer { who, name, port, scheme } = consumer;
    format!("{who} {name} {port} {scheme}")
}

/// A consumers file.
pub(crate) fn file(consumers: &[Consumer<'_>]) -> Value {
    let entry = |consumer: &Consumer<'_>| {
        let (module, node) = consumer.who.split_once('@').unwrap();
        let (name, path) =
            consumer.name.find('/').map_or((consumer.name, "/"), |at| consumer.name.split_at(at));
        json!({
            "node": node, "module": module, "local": "web",
            "machine": {"name": node, "address": "127.0.0.1"},
            "contribution": {"name": name, "path": path, "port": consumer.port.to_string(), "scheme": consumer.scheme},
            "revision": revision(consumer), "credentials": [],
        })
    };
    json!({
        "v": 1, "provision": "route", "provider": {"node": "gate", "module": "reverse-proxy"},
        "consumers": consumers.iter().map(entry).collect::<Vec<_>>(),
    })
}

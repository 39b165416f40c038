//! A copy of the quickstart in a folder of the test's own, and the mesh that runs from it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Ran, put, run};
use crate::quickstart::browser::Browser;
use crate::quickstart::processes::{self, Process};
use crate::quickstart::until;

/// A mesh description, and what runs from it: gone with the test, which fails where anything is left.
pub(crate) struct Home {
    folder: TempDir,
    turn: Option<MutexGuard<'static, ()>>,
}

impl Home {
    /// The quickstart, once the tests before are done.
    pub(crate) fn quickstart() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut home = Self::another();
        home.turn = Some(turn);
        home
    }

    /// One more at the same time.
    pub(crate) fn another() -> Self {
        build_what_is_missing();
        let folder = tempfile::tempdir().unwrap();
        // Services run as other users, and must get through.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let home = Self { folder, turn: None };
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart");
        for file in ["mesh.yaml", "modules/notes/module.yaml"] {
            home.write(file, &std::fs::read_to_string(example.join(file)).unwrap());
        }
        // Who else runs tests on this machine takes a port that is free for a moment.
        let first = 21_000 + 50 * (std::process::id() % 200);
        let range = format!("{{address: 127.0.0.1, ports: {first}-{}}}", first + 49);
        let text = std::fs::read_to_string(home.dir().join("mesh.yaml")).unwrap();
        home.write("mesh.yaml", &text.replace("{address: 127.0.0.1}", &range));
        home
    }

    /// The description's folder.
    pub(crate) fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// The state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.dir().join(".mesh")
    }

    /// Writes a file of the description.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.dir().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        put(&path, text);
    }

    /// Replaces a piece of a file of the description, which has to be there.
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.dir().join(path)).unwrap();
        assert!(text.contains(from), "{path} has no `{from}`: {text}");
        self.write(path, &text.replacen(from, to, 1));
    }

    /// One more node, beside the others.
    pub(crate) fn add_node(&self, node: &str) {
        let text = std::fs::read_to_string(self.dir().join("mesh.yaml")).unwrap();
        let cellar = text.lines().find(|line| line.starts_with("  cellar:")).unwrap();
        let both = format!("{cellar}\n{}", cellar.replace("cellar", node));
        self.write("mesh.yaml", &text.replace(cellar, &both));
    }

    /// Runs a command in the description's folder.
    pub(crate) fn mesh(&self, words: &str) -> Ran {
        crate::program::mesh(self.dir(), words)
    }

    /// Brings it up, and comes back once everything is applied.
    pub(crate) fn up(&self) {
        let ran = self.try_up(&["--timeout", "120"]);
        assert_eq!(ran.exit, 0, "{ran}\n{}", self.log());
    }

    /// Brings it up detached, however that ends.
    pub(crate) fn try_up(&self, arguments: &[&str]) -> Ran {
        let server = mesh_bus::testing::nats_server();
        let up = ["up", "--detach", "--nats-server", server.to_str().unwrap()];
        run(self.dir(), &[&up, arguments].concat(), "")
    }

    /// Takes it down, and sees that nothing of it is left.
    pub(crate) fn down(&self) {
        let ran = self.mesh("down");
        assert_eq!(ran.exit, 0, "{ran}\n{}", self.log());
        let left = processes::of_folder(self.dir());
        assert!(left.is_empty(), "left running by `mesh down`: {left:?}");
    }

    /// Applies the description as it is now, and waits until it is so.
    pub(crate) fn apply(&self) -> Ran {
        let ran = self.mesh("apply --yes --wait --timeout 60");
        assert_eq!(ran.exit, 0, "{ran}\n{}", self.log());
        ran
    }

    /// Waits until everything is applied.
    pub(crate) fn settle(&self) {
        let ran = self.mesh("status --wait --timeout 60");
        assert_eq!(ran.exit, 0, "{ran}\n{}", self.log());
    }

    /// The document that a command prints.
    pub(crate) fn json(&self, words: &str) -> Value {
        let ran = self.mesh(&format!("{words} --format json"));
        assert_eq!(ran.exit, 0, "{ran}\n{}", self.log());
        ran.json()
    }

    /// What `mesh status` says of a module.
    pub(crate) fn module(&self, node: &str, module: &str) -> Option<Value> {
        let status = self.json("status");
        let node = status["nodes"].as_array()?.iter().find(|told| told["node"] == node)?.clone();
        node["modules"].as_array()?.iter().find(|told| told["module"] == module).cloned()
    }

    /// What a node says of a module in `applied`.
    pub(crate) fn applied(&self, module: &str) -> Value {
        let answer = self.json(&format!("applied --module {module}"));
        assert_eq!(answer["entries"].as_array().unwrap().len(), 1, "{answer}");
        answer["entries"][0].clone()
    }

    /// What a secret says.
    pub(crate) fn reveal(&self, node: &str, secret: &str) -> String {
        self.mesh(&format!("secret reveal {secret} --node {node}")).done()
    }

    /// The port that was placed for a module.
    pub(crate) fn port(&self, node: &str, module: &str, port: &str) -> u16 {
        let assignment = self.buckets().value("mesh-controller_assignments", &format!("{node}.{module}"));
        u16::try_from(assignment["ports"][port].as_u64().unwrap()).unwrap()
    }

    /// A browser on the application's page.
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(self.port("cellar", "notes", "http"))
    }

    /// The process that `mesh up` is.
    pub(crate) fn itself(&self) -> Process {
        let pid = std::fs::read_to_string(self.state().join("mesh.lock")).unwrap();
        Process::of(pid.trim().parse().unwrap()).expect("it runs")
    }

    /// The first process of a service, once it runs.
    pub(crate) fn service(&self, node: &str, module: &str, service: &str) -> Process {
        let record = self.state().join(format!("nodes/{node}/records/{module}/{service}.running"));
        until(&format!("{module}.{service} runs"), || {
            let record: Value = serde_json::from_slice(&std::fs::read(&record).ok()?).ok()?;
            Process::of(i32::try_from(record["service"]["pid"].as_i64()?).ok()?)
        })
    }

    /// PostgreSQL, its provisioner, the application.
    pub(crate) fn services(&self) -> [Process; 3] {
        [
            self.service("attic", "postgres", "server"),
            self.service("attic", "postgres", "provisioner"),
            self.service("cellar", "notes", "server"),
        ]
    }

    /// The nats-server.
    pub(crate) fn nats(&self) -> Process {
        let up = self.itself().pid;
        until("nats-server runs", || {
            let of_us = |process: &Process| {
                process.parent() == Some(up) && process.words.contains("nats-server.conf")
            };
            processes::all().into_iter().find(of_us)
        })
    }

    /// What the mesh process and the application said, for a test that fails.
    pub(crate) fn log(&self) -> String {
        let read = |path: &str| std::fs::read_to_string(self.state().join(path)).unwrap_or_default();
        let logs =
            ["mesh.log", "nodes/cellar/logs/notes/server.log", "nodes/attic/logs/postgres/provisioner.log"];
        logs.map(|path| format!("-- {path}\n{}", read(path))).join("\n")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.mesh("down");
        let left = processes::of_folder(self.dir());
        left.iter().for_each(Process::kill);
        assert!(left.is_empty() || std::thread::panicking(), "left running: {left:?}");
    }
}

/// The programs that the quickstart runs lie beside `mesh`; where only this crate is built, they are missing.
pub(crate) fn build_what_is_missing() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let beside = Path::new(env!("CARGO_BIN_EXE_mesh")).parent().unwrap();
        for program in ["notes", "mesh-postgres-provisioner", "mesh-object-store-provisioner"] {
            if !beside.join(program).exists() {
                let mut cargo = Command::new(env!("CARGO"));
                cargo.args(["build", "--locked", "--quiet", "-p", program, "--target-dir"]);
                cargo.arg(beside.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
                if beside.ends_with("release") {
                    cargo.arg("--release");
                }
                assert!(cargo.status().unwrap().success(), "{program} cannot be built");
            }
        }
    });
}

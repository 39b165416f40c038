//! A control plane and nodes, each a process of its own, all of them gone with the test.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::program::{Ran, put, run};
use crate::quickstart::{processes, until};

/// A long-running command.
pub(super) struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    fn start(command: &mut Command, log: PathBuf) -> Self {
        let file = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn().unwrap();
        Self { child, log }
    }

    /// What it has said so far, and what those before it did.
    pub(super) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until it has said something.
    pub(super) fn says(&self, what: &str) {
        until(&format!("it says `{what}`: {}", self.said()), || self.said().contains(what).then_some(()));
    }

    /// Tells it to stop, and waits for that.
    pub(super) fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let ended = self.child.wait().unwrap();
        assert_eq!(ended.code(), Some(0), "{}", self.said());
    }
}

/// The folders of a mesh on several machines, and the description.
pub(super) struct Site {
    folder: TempDir,
    port: u16,
}

impl Site {
    /// One with these files as its description; nothing runs yet.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Services run as other users, and must get through.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let site = Self { folder, port };
        for (path, text) in files {
            let path = site.dir().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            put(&path, text);
        }
        site
    }

    pub(super) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The description's folder.
    pub(super) fn dir(&self) -> PathBuf {
        self.root().join("description")
    }

    /// The state folder of the server.
    pub(super) fn server_state(&self) -> PathBuf {
        self.root().join("server")
    }

    /// The state folder of a node.
    pub(super) fn state(&self, node: &str) -> PathBuf {
        self.root().join("nodes").join(node)
    }

    /// Starts the server, and waits until it answers.
    pub(super) fn serve(&self) -> Running {
        let running = self.start_server(&["--mesh", "home", "--address", "127.0.0.1"]);
        running.says("the control plane of home is up");
        running
    }

    /// Starts the server with these arguments.
    pub(super) fn start_server(&self, arguments: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mesh"));
        command.args(["server", "--port", &self.port.to_string(), "--state"]).arg(self.server_state());
        command.arg("--nats-server").arg(mesh_bus::testing::nats_server()).args(arguments);
        let log = self.root().join("server.log");
        // What one before has said is not said by this one.
        let _ = std::fs::remove_file(&log);
        Running::start(&mut command, log)
    }

    /// Starts a node that has joined.
    pub(super) fn run(&self, node: &str) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mesh"));
        command.args(["node", "--state"]).arg(self.state(node));
        Running::start(&mut command, self.root().join(format!("{node}.log")))
    }

    /// Runs a command as the server's operator, in the description's folder.
    pub(super) fn mesh(&self, words: &str) -> Ran {
        std::fs::create_dir_all(self.dir()).unwrap();
        let state = self.server_state();
        let mut words: Vec<&str> = words.split_whitespace().collect();
        words.extend(["--state", state.to_str().unwrap()]);
        run(&self.dir(), &words, "")
    }

    /// A token for a node.
    pub(super) fn invite(&self, node: &str) -> String {
        let ran = self.mesh(&format!("node invite {node} --format json"));
        assert_eq!(ran.exit, 0, "{ran}");
        ran.json()["token"].as_str().unwrap().to_owned()
    }

    /// Has a machine join by a token, however that ends.
    pub(super) fn join(&self, node: &str, token: &str) -> Ran {
        let state = self.state(node);
        run(self.root(), &["node", "join", token, "--state", state.to_str().unwrap()], "")
    }

    /// Invites a node and has it join.
    pub(super) fn bring_in(&self, node: &str) {
        let ran = self.join(node, &self.invite(node));
        assert_eq!(ran.exit, 0, "{ran}");
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        processes::of_folder(self.root()).iter().for_each(processes::Process::kill);
    }
}

//! The programs that hosts run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the programs are.
#[derive(Debug, Clone)]
pub struct Programs {
    mesh: PathBuf,
    nats_server: PathBuf,
}

impl Programs {
    /// `mesh`, with the programs that were built beside it, and a nats-server.
    #[must_use]
    pub fn new(mesh: &Path, nats_server: &Path) -> Self {
        Self { mesh: mesh.to_owned(), nats_server: nats_server.to_owned() }
    }

    /// `mesh`, with words between spaces, to be run in a folder.
    #[must_use]
    pub fn mesh(&self, folder: &Path, words: &str) -> Command {
        let mut command = Command::new(&self.mesh);
        command.args(words.split_whitespace()).current_dir(folder);
        command.env("MESH_NATS_SERVER", &self.nats_server).env("COLUMNS", "200").env_remove("NO_COLOR");
        command
    }
}

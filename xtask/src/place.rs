//! Where things are: the checkout, what is built from it, the tools that the set-up puts beside it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// One checkout, and the environment that it is used from.
pub(crate) struct Place {
    /// The folder of the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// The folders of `PATH`.
    pub(crate) path: Vec<PathBuf>,
    /// The nats-server that somebody chose by `MESH_NATS_SERVER`.
    pub(crate) chosen_nats_server: Option<PathBuf>,
    cargo: OsString,
}

impl Place {
    /// The checkout that this program was built from.
    #[expect(clippy::disallowed_methods, reason = "the edge of the program: read once, handed on")]
    pub(crate) fn of_this_checkout() -> Place {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = crate_folder.parent().expect("xtask/ is in the workspace's folder").to_owned();
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |set| root.join(set));
        Place {
            target,
            path: env::var_os("PATH").iter().flat_map(env::split_paths).collect(),
            // Absolute: what is started with it starts in other folders.
            chosen_nats_server: env::var_os("MESH_NATS_SERVER").and_then(|set| std::path::absolute(set).ok()),
            cargo: env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            root,
        }
    }

    /// Where the set-up puts what no package manager of the machine has: `target/tools`, also where `mesh` looks.
    pub(crate) fn tools(&self) -> PathBuf {
        self.root.join("target/tools")
    }

    /// The first program of this name on the PATH.
    pub(crate) fn on_path(&self, program: &str) -> Option<PathBuf> {
        self.path.iter().map(|folder| folder.join(program)).find(|file| file.is_file())
    }

    /// The cargo that runs this program, in the checkout.
    pub(crate) fn cargo(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.cargo);
        command.current_dir(&self.root);
        command
    }
}

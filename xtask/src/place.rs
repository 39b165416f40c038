//! Where things are: the checkout, what is built from it, the tools that the set-up puts beside it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell;

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
    /// The SeaweedFS that somebody chose by `MESH_WEED`.
    pub(crate) chosen_weed: Option<PathBuf>,
    /// Whether root runs this: then services run as users of their own.
    pub(crate) root_user: bool,
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
            chosen_weed: env::var_os("MESH_WEED").and_then(|set| std::path::absolute(set).ok()),
            root_user: shell::probe(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0"),
            cargo: env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            root,
        }
    }

    /// The same checkout, built in another folder.
    pub(crate) fn built_in(self, target: PathBuf) -> Place {
        Place { target, ..self }
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
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        command
    }
}

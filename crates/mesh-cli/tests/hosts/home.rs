//! A network with room for a mesh: one test at a time, the programs that its hosts run, a description in a folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use mesh_hosts::{Network, Programs};

/// What a mesh on hosts is made of.
pub(crate) struct Home {
    pub(crate) network: Network,
    pub(crate) programs: Programs,
    _turn: MutexGuard<'static, ()>,
}

impl Home {
    /// The quickstart's description in the network's folder, once the tests before are done. None where there are no hosts.
    pub(crate) fn quickstart() -> Option<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let network = mesh_hosts::require()?;
        build_what_is_missing();
        let mesh = Path::new(env!("CARGO_BIN_EXE_mesh"));
        let programs = Programs::new(mesh, &mesh_bus::testing::nats_server());
        let home = Self { network, programs, _turn: turn };
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart");
        for file in ["mesh.yaml", "modules/notes/module.yaml"] {
            home.write(file, &std::fs::read_to_string(example.join(file)).unwrap());
        }
        Some(home)
    }

    /// The description's folder.
    pub(crate) fn dir(&self) -> PathBuf {
        self.network.folder().join("description")
    }

    /// Writes a file of the description.
    #[expect(clippy::disallowed_methods, reason = "nobody else reads the files of a test")]
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.dir().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Replaces a piece of a file of the description, which has to be there.
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.dir().join(path)).unwrap();
        assert!(text.contains(from), "{path} has no `{from}`: {text}");
        self.write(path, &text.replace(from, to));
    }
}

/// The programs that the quickstart runs lie beside `mesh`; where only this crate is built, they are missing.
fn build_what_is_missing() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let beside = Path::new(env!("CARGO_BIN_EXE_mesh")).parent().unwrap();
        for program in ["notes", "mesh-postgres-provisioner"] {
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

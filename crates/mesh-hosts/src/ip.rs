//! The program `ip`, which makes namespaces and links, and what goes wrong with it.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use thiserror::Error;

/// Where it is: not every user's `PATH` has the folders of administrators.
const PLACES: [&str; 3] = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"];

/// Why there are no hosts.
#[derive(Debug, Error)]
pub enum Error {
    /// The program is missing.
    #[error("the program `ip` is in none of {}: `cargo xtask setup` installs Debian's iproute2", PLACES.join(", "))]
    Missing,
    /// The program could not be started.
    #[error("cannot start {}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It did not do what it was told.
    #[error("`ip {words}` failed: {said}")]
    Refused {
        /// What it was told.
        words: String,
        /// What it said.
        said: String,
    },
    /// A folder or a file of a host could not be made.
    #[error("cannot use {}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A namespace could not be entered.
    #[error("cannot enter the namespace {}", path.display())]
    Enter {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// Tells `ip` something, in words between spaces.
pub(crate) fn ip(words: &str) -> Result<String, Error> {
    let program = PLACES.iter().map(PathBuf::from).find(|place| place.is_file()).ok_or(Error::Missing)?;
    let mut command = Command::new(&program);
    command.args(words.split_whitespace()).stdin(Stdio::null());
    let output = command.output().map_err(|source| Error::Start { program, source })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(Error::Refused { words: words.to_owned(), said })
        }
    }
}

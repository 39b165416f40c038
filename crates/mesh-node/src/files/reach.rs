//! Whether a user can get to a folder at all: a state folder below `/root` is closed to everybody else.

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::users::User;

/// A folder on the way is closed to the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "user `{user}` cannot get to its files: {} is closed to it; let others pass (chmod o+x {}) or put the state \
     folder elsewhere (--state)",
    folder.display(), folder.display()
)]
pub struct NotReachable {
    /// The first folder from the root that is closed.
    pub folder: PathBuf,
    /// Who cannot pass.
    pub user: String,
}

/// Whether `user` can pass through every folder down to `path`, which must be absolute, and itself where it is a
/// folder. Looks at the permission bits alone.
///
/// # Errors
/// The first folder that is closed. One that cannot be looked at is left to the service to find.
pub fn reachable_by(path: &Path, user: &User) -> Result<(), NotReachable> {
    if user.uid == 0 {
        return Ok(());
    }
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut folders: Vec<&Path> = real.ancestors().collect();
    folders.reverse();
    for folder in folders {
        let Ok(metadata) = folder.metadata() else { continue };
        if metadata.is_dir() && !may_pass(&metadata, user) {
            return Err(NotReachable { folder: folder.to_owned(), user: user.name.clone() });
        }
    }
    Ok(())
}

/// One class of bits counts, as the kernel has it: the owner's, else the group's, else the others'.
fn may_pass(metadata: &std::fs::Metadata, user: &User) -> bool {
    let shift = if metadata.uid() == user.uid {
        6
    } else if user.groups.contains(&metadata.gid()) {
        3
    } else {
        0
    };
    (metadata.mode() >> shift) & 0o1 != 0
}

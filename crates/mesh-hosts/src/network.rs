//! A network: a switch, and hosts plugged into it. All of it is gone when it is dropped, after a panic too.
//!
//! The switch is a bridge in a namespace of its own. So the machine's own network sees nothing of it, and two networks may
//! use the same addresses.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use crate::host::Host;
use crate::ip::{Error, ip};
use crate::left_over;

/// A switch, and the folder below which its hosts keep what is theirs. It is there as long as one of them is.
#[derive(Debug)]
pub struct Network {
    switch: Arc<Switch>,
    hosts: AtomicUsize,
}

/// What hosts are plugged into.
#[derive(Debug)]
pub(crate) struct Switch {
    prefix: String,
    /// Its namespace.
    pub(crate) space: String,
    folder: TempDir,
}

impl Network {
    /// A switch that nothing is plugged into.
    ///
    /// # Errors
    /// Where namespaces cannot be made: this needs root, and Debian's iproute2.
    pub fn new() -> Result<Self, Error> {
        static NETWORKS: AtomicUsize = AtomicUsize::new(0);
        left_over::remove();
        let folder =
            tempfile::tempdir().map_err(|source| Error::Folder { path: std::env::temp_dir(), source })?;
        // Services run as users of their own, and have to get through.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755))
            .map_err(|source| Error::Folder { path: folder.path().to_owned(), source })?;
        let prefix = format!("{}{}-", left_over::prefix(), NETWORKS.fetch_add(1, Ordering::Relaxed));
        let space = format!("{prefix}switch");
        ip(&format!("netns add {space}"))?;
        let switch = Arc::new(Switch { prefix, space, folder });
        ip(&format!("-n {} link add bridge type bridge", switch.space))?;
        ip(&format!("-n {} link set bridge up", switch.space))?;
        Ok(Self { switch, hosts: AtomicUsize::new(0) })
    }

    /// Plugs in one more host: with the next address from 10.77.0.1 on, and a folder.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn host(&self, name: &str) -> Result<Host, Error> {
        let number = self.hosts.fetch_add(1, Ordering::Relaxed) + 1;
        let folder = self.folder().join(name);
        let space = format!("{}{name}", self.switch.prefix);
        Host::plug_in(name, number, space, Arc::clone(&self.switch), folder)
    }

    /// A folder for what belongs to no host, such as a description. The folder of each host is in it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.switch.folder.path()
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // Where it cannot be removed, the next run tries again.
        let _ = ip(&format!("netns delete {}", self.space));
    }
}

#[cfg(test)]
mod tests;

//! Where a node keeps what is its modules'.
//!
//! ```text
//! <state>/modules/<module>/             its files; others may pass, nobody may list
//! <state>/records/<module>/             what the mesh itself has to remember of it: its ledger, its running services, what it was made from
//! <state>/contents/<digest>             what its files are made from, to boot without the bus
//! <state>/seen.json                     how old a credential may be
//! <state>/logs/<module>/<service>.log   what it said
//! ```

use std::path::{Path, PathBuf};

/// The paths below one node's state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    state: PathBuf,
}

impl Layout {
    /// Below that folder, which must be absolute.
    pub fn new(state: &Path) -> Self {
        Self { state: state.to_owned() }
    }

    /// The state folder itself.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Where a module's files are, and where its services run.
    pub fn module(&self, module: &str) -> PathBuf {
        self.state.join("modules").join(module)
    }

    /// The ledger of a module's files, for [`crate::files::replace`].
    pub fn ledger(&self, module: &str) -> PathBuf {
        self.records(module).join("files.json")
    }

    /// What a module was last made from.
    pub fn kept(&self, module: &str) -> PathBuf {
        self.records(module).join("kept.json")
    }

    /// What files are made from, by digest.
    pub fn contents(&self) -> PathBuf {
        self.state.join("contents")
    }

    /// How old a credential may be.
    pub fn seen(&self) -> PathBuf {
        self.state.join("seen.json")
    }

    /// A service's log.
    pub fn log(&self, module: &str, service: &str) -> PathBuf {
        self.state.join("logs").join(module).join(format!("{service}.log"))
    }

    /// Makes the state folder, where it is missing.
    pub(super) fn make_root(&self) -> Result<(), crate::files::Error> {
        crate::files::passing(&self.state.join("modules"))
    }

    /// Makes a module's folders, so that its files can be written.
    ///
    /// # Errors
    /// What the system says.
    pub fn make(&self, module: &str) -> Result<(), crate::files::Error> {
        use crate::files::passing;
        passing(&self.state.join("modules"))?;
        passing(&self.module(module))?;
        for private in [self.records(module), self.state.join("logs").join(module)] {
            crate::files::make(&crate::files::Dir {
                path: private,
                lasting: Default::default(),
                owner: None,
            })?;
        }
        Ok(())
    }

    /// Every module that this node keeps a record of.
    pub fn modules(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.all_records()).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Forgets a module of which nothing is left but its lasting folders.
    ///
    /// # Errors
    /// What the system says.
    pub fn forget(&self, module: &str) -> std::io::Result<()> {
        match std::fs::remove_dir_all(self.records(module)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn records(&self, module: &str) -> PathBuf {
        self.state.join("records").join(module)
    }

    pub(super) fn all_records(&self) -> PathBuf {
        self.state.join("records")
    }

    pub(super) fn record(&self, module: &str, service: &str) -> PathBuf {
        self.records(module).join(format!("{service}.{RUNNING}"))
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.state.join("host.lock")
    }
}

/// Ends the name of a record that a keeper wrote.
pub(super) const RUNNING: &str = "running";

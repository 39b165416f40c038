//! Who a keeper keeps, on disk while it does: so that a node which starts after both were killed knows whom to end.

use std::{io::Write, os::unix::fs::OpenOptionsExt, path::Path};

use serde::{Deserialize, Serialize};

use crate::processes;

/// A process that cannot be taken for another: with its start, in one run of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    pub(crate) pid: i32,
    pub(crate) started: u64,
}

/// What one keeper notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The run of the machine.
    pub(crate) boot: String,
    /// The keeper itself.
    pub(crate) keeper: Known,
    /// The service's first process, which leads its session.
    pub(crate) service: Known,
    /// The value of [`super::MARK`] in its environment.
    pub(crate) mark: String,
    /// How long it may take over stopping, in milliseconds.
    pub(crate) stop_deadline: u64,
}

impl Known {
    pub(crate) fn of(pid: i32) -> Option<Self> {
        processes::look(pid).map(|process| Self { pid, started: process.started })
    }
}

impl Record {
    /// Not synced: after a loss of power nobody it names is left.
    pub(super) fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let mut file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&name)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        std::fs::rename(&name, path)
    }
}

//! Which logs there are below the nodes' state folders: `<node>/logs/<module>/<service>.log`.

use std::io;
use std::path::{Path, PathBuf};

use mesh_node::host::Layout;

/// The log of one service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Log {
    pub(super) node: String,
    pub(super) module: String,
    pub(super) service: String,
    pub(super) path: PathBuf,
}

impl Log {
    /// As people name it: `notes@cellar.server`.
    pub(super) fn name(&self) -> String {
        format!("{}@{}.{}", self.module, self.node, self.service)
    }
}

/// Every log of every node, by node, module and service.
pub(super) fn all(nodes: &Path) -> io::Result<Vec<Log>> {
    let mut logs = Vec::new();
    for node in names(nodes)? {
        let layout = Layout::new(&nodes.join(&node));
        for module in names(&layout.state().join("logs"))? {
            let folder = layout.log(&module, "any");
            let folder = folder.parent().expect("a log is in a folder");
            // Older files of a log end in a number.
            let services = names(folder)?.into_iter();
            for service in services.filter_map(|name| Some(name.strip_suffix(".log")?.to_owned())) {
                let (node, module, path) = (node.clone(), module.clone(), layout.log(&module, &service));
                logs.push(Log { node, module, service, path });
            }
        }
    }
    logs.sort();
    Ok(logs)
}

/// The names in a folder; none where it is not there.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

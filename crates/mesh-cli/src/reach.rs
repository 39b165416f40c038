//! How a command finds the bus: by the state folder of what runs here, or by an address and a credentials file.
//!
//! `mesh up` and `mesh server` leave [`BusFile`] in their state folder for those who come after. Whatever goes wrong here comes to exit code 3,
//! with the folder and the way out.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use mesh_bus::client::ConnectError;
use mesh_bus::creds::CredsError;
use mesh_bus::{Address, Bus, Creds, FirstTry};
use mesh_model::wire::V1;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::exit::{Exit, Failure};

/// The state folder, below the description's.
const STATE: &str = ".mesh";

/// Where the bus is.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct BusArgs {
    /// The state folder of what runs here [default: .mesh in the description's folder]
    #[arg(long, value_name = "FOLDER", help_heading = "The bus")]
    state: Option<PathBuf>,
    /// The address of a bus elsewhere
    #[arg(long, value_name = "URL", requires = "creds", conflicts_with = "state", help_heading = "The bus")]
    bus: Option<String>,
    /// The credentials file to sign in with there
    #[arg(long, value_name = "FILE", requires = "bus", help_heading = "The bus")]
    creds: Option<PathBuf>,
    /// The certificate of the mesh's authority, by which that bus is known
    #[arg(long, value_name = "FILE", requires = "bus", help_heading = "The bus")]
    ca: Option<PathBuf>,
}

/// What `mesh up` and `mesh server` leave in their state folder, in a file of mode 0600: where its bus is, and who may use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BusFile {
    /// The version of this shape.
    pub(crate) v: V1,
    /// Where it is.
    pub(crate) urls: Vec<String>,
    /// The file with the certificate of the mesh's authority; a relative path begins at the state folder. None for a bus
    /// on the loopback alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) ca: Option<PathBuf>,
    /// The operator's credentials file; a relative path begins at the state folder.
    pub(crate) creds: PathBuf,
}

impl BusFile {
    /// Where it is, for a state folder.
    pub(crate) fn path(state: &Path) -> PathBuf {
        state.join("bus.json")
    }
}

/// Why the bus was not reached.
#[derive(Debug, Error)]
pub(crate) enum ReachError {
    #[error("nothing runs in {}", state.display())]
    NothingRuns { state: PathBuf },
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot make sense of {}", path.display())]
    Shape { path: PathBuf, source: serde_json::Error },
    #[error("{} holds no credentials", path.display())]
    Creds { path: PathBuf, source: CredsError },
    #[error("what ran in {} is not there any more", state.display())]
    Gone { state: PathBuf, source: ConnectError },
    #[error("the bus at {at} is not there, or does not let us in")]
    Elsewhere { at: Address, source: ConnectError },
}

impl From<ReachError> for Failure {
    fn from(error: ReachError) -> Self {
        let hint = match &error {
            ReachError::NothingRuns { .. } => {
                "`mesh up DIR` starts it; `--state FOLDER` names another folder, `--bus URL --creds FILE` a bus elsewhere"
            }
            ReachError::Gone { .. } => "`mesh up DIR` starts it again, with everything as it was",
            ReachError::Elsewhere { .. } => "look at the address, and at whose credentials these are",
            ReachError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => "",
            ReachError::Read { .. } => "only who started the mesh may read its state folder",
            ReachError::Shape { .. } | ReachError::Creds { .. } => "`mesh up DIR` writes it anew",
        };
        Self::new(error).exit(Exit::Unreachable).hint(hint)
    }
}

impl BusArgs {
    /// What runs in a state folder.
    pub(crate) fn of_state(state: &Path) -> Self {
        Self { state: Some(state.to_owned()), ..Self::default() }
    }

    /// The state folder, for a description's folder.
    pub(crate) fn state(&self, dir: &Path) -> PathBuf {
        // As people write it: `.mesh`, not `./.mesh`.
        let dir = if dir == Path::new(".") { Path::new("") } else { dir };
        self.state.clone().unwrap_or_else(|| dir.join(STATE))
    }

    /// Whether there is a bus to speak of: one is named, or something has run here.
    pub(crate) fn is_there(&self, dir: &Path) -> bool {
        self.bus.is_some() || BusFile::path(&self.state(dir)).exists()
    }

    /// Where the bus is.
    pub(crate) fn address(&self, dir: &Path) -> Result<Address, ReachError> {
        match &self.bus {
            Some(url) => Ok(Address { urls: vec![url.clone()], ca: self.ca.clone() }),
            None => Ok(bus_file(&self.state(dir))?.1),
        }
    }

    /// Connects as an operator.
    pub(crate) async fn connect(&self, dir: &Path) -> Result<Bus, ReachError> {
        if let Some(creds) = &self.creds {
            return connect_elsewhere(self.address(dir)?, creds).await;
        }
        let state = self.state(dir);
        let (creds, at) = bus_file(&state)?;
        let connected = Bus::connect(&at, &read_creds(&creds)?, FirstTry::Fails).await;
        connected.map_err(|source| ReachError::Gone { state, source })
    }
}

/// Connects to a bus by its address, as whom a credentials file says.
pub(crate) async fn connect_elsewhere(at: Address, creds: &Path) -> Result<Bus, ReachError> {
    let connected = Bus::connect(&at, &read_creds(creds)?, FirstTry::Fails).await;
    connected.map_err(|source| ReachError::Elsewhere { at, source })
}

/// The credentials file of a state folder's operator, and where the bus is.
fn bus_file(state: &Path) -> Result<(PathBuf, Address), ReachError> {
    let path = BusFile::path(state);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ReachError::NothingRuns { state: state.to_owned() });
        }
        Err(source) => return Err(ReachError::Read { path, source }),
    };
    let read = serde_json::from_str(&text).map_err(|source| ReachError::Shape { path, source });
    let BusFile { urls, ca, creds, .. } = read?;
    Ok((state.join(creds), Address { urls, ca: ca.map(|ca| state.join(ca)) }))
}

fn read_creds(path: &Path) -> Result<Creds, ReachError> {
    let text = std::fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(|source| ReachError::Read { path: path.to_owned(), source })?;
    Creds::from_text(&text).map_err(|source| ReachError::Creds { path: path.to_owned(), source })
}

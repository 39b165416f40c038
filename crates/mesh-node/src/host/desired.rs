//! What a module should be, as the client hands it over: nothing left to resolve.

use std::{path::PathBuf, time::Duration};

use mesh_seal::Secret;

use crate::{files::Dir, shim::StopSignal};

/// One module.
#[derive(Debug, Clone)]
pub struct DesiredModule {
    /// Its name.
    pub module: String,
    /// Its folders.
    pub dirs: Vec<Dir>,
    /// Its services, in the order in which they start.
    pub services: Vec<ServiceSpec>,
}

/// One service.
#[derive(Debug, Clone)]
pub struct ServiceSpec {
    /// Its name, unique in the module.
    pub name: String,
    /// Run to the end before each start.
    pub prepare: Vec<Prepare>,
    /// The program and its arguments.
    pub exec: Vec<String>,
    /// Beside what every service gets (`PATH`, `HOME`, `LANG`, `USER`, `TZ`, `MESH_NODE`, `MESH_MODULE`), over it.
    pub env: Vec<(String, Secret)>,
    /// As whom it runs where the node is root; ignored otherwise.
    pub user: Option<String>,
    /// How to see that it is well. Without, it is once it has stayed up for a moment.
    pub health: Option<Health>,
    /// What to do when it ends by itself.
    pub restart: Restart,
    /// What it is sent to stop.
    pub stop_signal: StopSignal,
    /// How long it may take over stopping.
    pub stop_deadline: Duration,
    /// Of everything that it has to be restarted for, keyed.
    pub digest: String,
    /// Of everything that it has to be sent SIGHUP for, keyed.
    pub reload_digest: String,
    /// The ports it will listen on, by name: to say who holds one where it fails.
    pub ports: Vec<(String, u16)>,
}

/// One step before a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepare {
    /// The program and its arguments.
    pub exec: Vec<String>,
    /// Where this is there already, the step is skipped.
    pub creates: Option<PathBuf>,
}

/// How to see whether a service is well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// A GET of this `http://` address answers with a status below 400.
    Http(String),
    /// This `host:port` accepts a connection.
    Tcp(String),
    /// This program ends with 0, run as the service is.
    Exec(Vec<String>),
}

/// What to do about a service that has ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Restart {
    /// Start it again.
    #[default]
    Always,
    /// Start it again unless it ended with 0.
    OnFailure,
    /// Leave it.
    Never,
}

//! Supervises the services of one node: starts them in order, keeps them up, reloads, restarts and stops them.
//!
//! [`Host::start`] first ends what an earlier run has left; then [`Host::set`] says what a module should be, and
//! [`Host::states`] what it is. One task a module drives a pure machine (`machine.rs`), which alone decides; one task a
//! run of a service (`service.rs`) does what it says. Every service is below a [`crate::shim`], so that it ends well
//! however this program ends.
//!
//! It knows nothing of the bus, of placeholders or of where a secret comes from.

use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::watch;
use tokio_util::task::TaskTracker;

mod desired;
mod health;
mod layout;
mod left_over;
pub mod logs;
mod machine;
mod module;
pub mod ports;
mod redact;
mod service;
mod spawner;
mod state;

pub use desired::{DesiredModule, Health, Prepare, Restart, ServiceSpec};
pub use layout::Layout;
pub use state::{ModuleState, RunState, ServiceState};

/// The states of all modules, by name.
pub type States = BTreeMap<String, ModuleState>;

/// What a host has to know.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// The node's name.
    pub node: String,
    /// Where it keeps what is its modules'. One host a folder.
    pub state: PathBuf,
    /// How to start this program as a shim.
    pub program: Program,
    /// For services: the machine's `TZ`, where it has one.
    pub timezone: Option<String>,
}

/// A program and its first arguments, after which [`crate::shim::main`] takes over: `mesh` and `shim`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Absolute. Its folder comes first in every service's PATH.
    pub path: PathBuf,
    /// What leads to the shim.
    pub arguments: Vec<String>,
}

/// Why a host could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder for a node's modules cannot be made.
    #[error("could not make the node's folder")]
    Folder {
        /// Why.
        #[source]
        source: crate::files::Error,
    },
    /// Another host has the folder.
    #[error("another mesh is running this node: it holds {}", lock.display())]
    InUse {
        /// The lock that it holds.
        lock: PathBuf,
    },
    /// The lock cannot be had.
    #[error("could not lock {}", lock.display())]
    Lock {
        /// The lock.
        lock: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No thread for starting services.
    #[error("could not start the thread that starts services")]
    Spawner {
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The supervisor of one node. Dropping it ends its services too, but waits for none: see [`Host::shutdown`].
#[derive(Debug)]
pub struct Host {
    world: Arc<service::World>,
    modules: Arc<module::Modules>,
    states: watch::Sender<States>,
    tasks: TaskTracker,
    /// Held as long as there is a host; the system lets go of it when the program is killed.
    _lock: File,
}

/// Whether everything had ended when a shutdown's deadline came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shutdown {
    /// Nothing is left.
    Clean,
    /// These modules are still ending; their shims see to it, and kill what takes too long.
    StillEnding(Vec<String>),
}

impl Host {
    /// Takes the state folder, and ends what an earlier run has left in it.
    ///
    /// # Errors
    /// Another host has the folder, or what the system says.
    pub async fn start(config: HostConfig) -> Result<Self, Error> {
        let layout = Layout::new(&config.state);
        layout.make_root().map_err(|source| Error::Folder { source })?;
        let lock = lock(&layout.lock())?;
        let world = service::World::new(&config, layout).map_err(|source| Error::Spawner { source })?;
        left_over::end_all(&world.layout, world.mark_of_all()).await;
        Ok(Self {
            world: Arc::new(world),
            modules: Arc::new(Mutex::default()),
            states: watch::Sender::new(States::new()),
            tasks: TaskTracker::new(),
            _lock: lock,
        })
    }

    /// Where this host keeps things.
    pub fn layout(&self) -> &Layout {
        &self.world.layout
    }

    /// Says what a module should be from now on; `None`: gone. To say the same again changes nothing.
    /// A module that is gone has no state any more once its last service has ended.
    pub fn set(&self, module: &str, desired: Option<DesiredModule>) {
        let desired = desired.map(Arc::new);
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        match modules.get(module) {
            Some(handle) => {
                handle.send_replace(desired);
            }
            None if desired.is_none() => {}
            None => {
                let (handle, receiver) = watch::channel(desired);
                modules.insert(module.to_owned(), handle);
                let driver = module::Driver::new(
                    module,
                    Arc::clone(&self.world),
                    Arc::clone(&self.modules),
                    self.states.clone(),
                );
                self.tasks.spawn(driver.run(receiver));
            }
        }
    }

    /// What the services are doing, module by module, and each change of it.
    pub fn states(&self) -> watch::Receiver<States> {
        self.states.subscribe()
    }

    /// Stops everything, each module's services in reverse order, and waits for it at most so long.
    pub async fn shutdown(self, deadline: Duration) -> Shutdown {
        let names: Vec<String> =
            self.modules.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        for name in &names {
            self.set(name, None);
        }
        self.tasks.close();
        match tokio::time::timeout(deadline, self.tasks.wait()).await {
            Ok(()) => Shutdown::Clean,
            Err(_) => Shutdown::StillEnding(self.states.borrow().keys().cloned().collect()),
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Each module's task holds on to the others' wishes, so they would not see that the host is gone.
        for handle in self.modules.lock().unwrap_or_else(PoisonError::into_inner).values() {
            handle.send_replace(None);
        }
    }
}

fn lock(path: &Path) -> Result<File, Error> {
    let lock = path.to_owned();
    let file = match File::options().write(true).create(true).truncate(false).mode(0o600).open(path) {
        Ok(file) => file,
        Err(source) => return Err(Error::Lock { lock, source }),
    };
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse { lock }),
        Err(TryLockError::Error(source)) => Err(Error::Lock { lock, source }),
    }
}

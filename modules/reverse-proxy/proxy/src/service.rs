//! The proxy as a whole: workers that answer requests, and beside them what keeps the table.
//!
//! Workers are threads that share nothing but the table. The table is made on a thread of its own, so that a large one costs
//! no request its time.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use arc_swap::ArcSwap;
use mesh_provider::Job;
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::drain::Drain;
use crate::health;
use crate::listen::{self, ListenError};
use crate::mark::Mark;
use crate::provision::Provision;
use crate::worker::{Shared, Worker};

/// Why the proxy does not run.
#[derive(Debug, Error)]
pub enum RunError {
    /// Somebody else listens, or we may not.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The system gives no thread, poller or timer.
    #[error("could not begin to work")]
    System(#[source] io::Error),
}

/// A proxy that listens, and answers nobody yet.
#[derive(Debug)]
pub struct Proxy {
    config: Config,
    listeners: Vec<TcpListener>,
}

impl Proxy {
    /// Listens.
    ///
    /// # Errors
    /// Where somebody else does, or we may not.
    pub fn bind(config: Config) -> Result<Self, RunError> {
        let listeners =
            config.listen.iter().map(|address| listen::bind(*address)).collect::<Result<_, _>>()?;
        Ok(Self { config, listeners })
    }

    /// With sockets that somebody else made, one for each address of the configuration.
    #[must_use]
    pub fn with(config: Config, listeners: Vec<TcpListener>) -> Self {
        Self { config, listeners }
    }

    /// The addresses that it listens on, with the ports that the system chose.
    ///
    /// # Panics
    /// Where the system does not know the address of a socket.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|listener| listener.local_addr().expect("it is bound")).collect()
    }

    /// Serves until it is asked to stop, and then ends what was begun.
    ///
    /// # Errors
    /// Where the system gives no thread, poller or timer.
    pub fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        let Config { limits, disclose, workers, .. } = &self.config;
        let workers = (*workers).max(1);
        let shared = Arc::new(Shared {
            table: ArcSwap::default(),
            node: ArcSwap::default(),
            limits: Arc::new(limits.clone()),
            disclose: *disclose,
            mark: Mark::new(),
            permits: Arc::new(Semaphore::new(limits.connections)),
            drain: Drain::default(),
            begin: CancellationToken::new(),
        });
        let runtime = runtime().map_err(RunError::System)?;
        let threads = (0..workers)
            .map(|index| begin(Worker::new(index, shared.clone()), &self.listeners))
            .collect::<io::Result<Vec<_>>>()
            .map_err(RunError::System)?;
        // They have their own; a socket that nobody takes from must not be left open.
        drop(self.listeners);
        runtime.block_on(control(&self.config, &shared, workers, shutdown));
        for thread in threads {
            // A panic in it was told by the hook.
            let _ = thread.join();
        }
        Ok(())
    }
}

/// Keeps the table until it is asked to stop, then lets the workers end.
async fn control(config: &Config, shared: &Arc<Shared>, workers: usize, shutdown: impl Future<Output = ()>) {
    tokio::pin!(shutdown);
    // Whoever sees an answer may ask to stop, so it has to be listened for before there is one.
    let is_asked = futures_util::poll!(shutdown.as_mut()).is_ready();
    let shutdown = async {
        if !is_asked {
            shutdown.await;
        }
    };
    let tasks = TaskTracker::new();
    let mut provision =
        Provision::new(shared.clone(), config.public.clone(), workers, &config.answers, tasks.clone());
    let job = Job::new(config.consumers.clone(), config.answers.clone());
    tokio::select! {
        () = mesh_provider::watch(&mut provision, &job, shutdown) => {}
        () = health::watch(shared.clone()) => {}
    }
    shared.drain.end(config.limits.drain, &shared.permits, config.limits.connections).await;
}

fn begin(worker: Worker, listeners: &[TcpListener]) -> io::Result<JoinHandle<()>> {
    let own = |listener: &TcpListener| {
        let own = listener.try_clone()?;
        own.set_nonblocking(true)?;
        Ok(own)
    };
    let listeners = listeners.iter().map(own).collect::<io::Result<Vec<_>>>()?;
    let runtime = runtime()?;
    let work = move || {
        runtime.block_on(async {
            let listeners =
                listeners.into_iter().map(tokio::net::TcpListener::from_std).collect::<io::Result<_>>();
            match listeners {
                Ok(listeners) => Arc::new(worker).run(listeners).await,
                Err(error) => tracing::error!("a worker cannot listen: {error}"),
            }
        });
        // What is left has had its time.
        runtime.shutdown_background();
    };
    std::thread::Builder::new().name("worker".to_owned()).spawn(work)
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

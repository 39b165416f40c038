//! `notes`: a page to write and read notes, kept in its database.
//!
//! An ordinary web application, here to show what one needs from a mesh: an address of its database and a secret in
//! its environment, a settings file, a port. It knows nothing of mesh, and runs the same without it.
//!
//! Read `config` for what it is given, `web` for what it answers, `store` for where notes are kept, `form` for how it
//! knows that a form is its own, `page` for how it looks.

mod config;
mod form;
mod page;
mod store;
mod web;

use std::process::ExitCode;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;

/// How long requests under way may take once the program was told to stop.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Config(#[from] config::Error),
    #[error("cannot listen on {address}")]
    Listen { address: std::net::SocketAddr, source: std::io::Error },
    #[error("cannot wait for the signals that stop this program")]
    Signals { source: std::io::Error },
    #[error("cannot serve on {address} any longer")]
    Serve { address: std::net::SocketAddr, source: std::io::Error },
}

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false).with_ansi(false).init();
    #[expect(
        clippy::disallowed_methods,
        reason = "the edge of the program: read once, handed on as configuration"
    )]
    let environment = |name: &str| std::env::var(name).ok();
    let served = match Config::read(std::env::args().skip(1), environment) {
        Ok(config) => serve(config).await,
        Err(error) => Err(error.into()),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{}", store::chain(&error));
            ExitCode::FAILURE
        }
    }
}

async fn serve(config: Config) -> Result<(), Error> {
    let address = config.listen;
    let mut terminate = signal(SignalKind::terminate()).map_err(|source| Error::Signals { source })?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|source| Error::Signals { source })?;
    let listener = TcpListener::bind(address).await.map_err(|source| Error::Listen { address, source })?;
    tracing::info!("serving on http://{}/", listener.local_addr().unwrap_or(address));

    let (stop, stopped) = tokio::sync::watch::channel(());
    let mut asked = stopped.clone();
    let serving = axum::serve(listener, web::routes(config)).with_graceful_shutdown(async move {
        // An error means that the sender is gone, which is a reason to stop as well.
        let _ = asked.changed().await;
    });
    let mut serving = std::pin::pin!(serving.into_future());
    tokio::select! {
        served = &mut serving => return served.map_err(|source| Error::Serve { address, source }),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping");
    drop(stop);
    // A browser may hold a connection open for minutes: what is not done by then is cut off.
    let _ = tokio::time::timeout(GRACE, serving).await;
    Ok(())
}

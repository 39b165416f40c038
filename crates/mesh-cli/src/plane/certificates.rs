//! The certificates of the bus: there before it starts, and made anew before they are over.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use mesh_bus::authority::Clock;
use mesh_bus::server::Reload;
use mesh_bus::tls::Ca;
use tokio_util::sync::CancellationToken;

use crate::exit::Failure;
use crate::process::state_fault;

/// How often it is looked whether one is due.
const PERIOD: Duration = Duration::from_secs(3600);

/// The mesh's authority, and a certificate for the server by these names.
pub(super) fn open(folder: &Path, names: &[String], clock: Clock) -> Result<Ca, Failure> {
    let ca = Ca::open(folder, clock).map_err(state_fault)?;
    ca.certify(names).map_err(state_fault)?;
    Ok(ca)
}

/// Has the server take up a new certificate whenever one is due, until told to stop.
pub(super) async fn renew(
    ca: Ca,
    names: Vec<String>,
    reload: Reload,
    stop: CancellationToken,
) -> Result<(), Infallible> {
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(PERIOD) => {}
        }
        match ca.certify(&names) {
            Ok(false) => {}
            Ok(true) => {
                reload.now();
                tracing::info!("the bus has a new certificate");
            }
            // The one of before is good for a month yet.
            Err(error) => tracing::error!(error = &error as &dyn std::error::Error, "no new certificate"),
        }
    }
}

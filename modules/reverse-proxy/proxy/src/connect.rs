//! A new connection to a target.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use mesh_routes::{Address, Scheme};
use tokio::net::TcpStream;

use crate::failure::Unreached;
use crate::spare::{Clock, Spare};
use crate::spawner::Spawner;
use crate::target::Target;
use crate::upload::Upload;
use crate::wire;
use crate::worker::Worker;

/// How large what hyper reads or writes at once may grow, in bytes.
const BUFFER: usize = 64 << 10;

/// Connects to a target.
///
/// # Errors
/// Where it cannot be reached, or not in time.
pub(crate) async fn connect(worker: &Arc<Worker>, target: &Target) -> Result<Spare, Unreached> {
    let limits = &worker.shared.limits;
    let stream = reach(target, limits.connect).await?;
    wire::tune(&stream);
    let unused = limits.target_idle;
    let stream = TokioIo::new(stream);
    // Whoever has a request on it is told how it ended.
    match target.spec().scheme {
        Scheme::H2c => {
            let mut http = http2::Builder::new(Spawner(worker.tasks.clone()));
            http.timer(TokioTimer::new())
                .initial_stream_window_size(256 << 10)
                .initial_connection_window_size(1 << 20)
                .keep_alive_interval(Duration::from_secs(10))
                .keep_alive_timeout(Duration::from_secs(10));
            let (sender, connection) =
                http.handshake::<_, Upload>(stream).await.map_err(|_| Unreached::Speaks)?;
            let spare = Spare::http2(sender);
            drive(worker, connection, spare.clock(), unused);
            // Others can use it at the same time.
            if let Some(shared) = spare.shared() {
                target.keep_spare(worker.index, shared, limits.target_spare);
            }
            Ok(spare)
        }
        Scheme::Http | Scheme::Https => {
            let mut http = http1::Builder::new();
            http.max_buf_size(BUFFER);
            let (sender, connection) =
                http.handshake::<_, Upload>(stream).await.map_err(|_| Unreached::Speaks)?;
            let spare = Spare::http1(sender);
            drive(worker, connection.with_upgrades(), spare.clock(), unused);
            Ok(spare)
        }
    }
}

/// Has a connection go on until it ends, or nobody uses it any more.
fn drive<C>(worker: &Worker, connection: C, clock: Arc<Clock>, unused: Duration)
where
    C: Future<Output = hyper::Result<()>> + Send + 'static,
{
    worker.tasks.spawn(async move {
        tokio::select! {
            _ = connection => {}
            () = clock.unused_for(unused) => {}
        }
    });
}

/// A connection to a target's port.
pub(crate) async fn reach(target: &Target, limit: Duration) -> Result<TcpStream, Unreached> {
    let connecting = async {
        if let Some(address) = target.fixed() {
            return TcpStream::connect(address).await;
        }
        let spec = target.spec();
        match &spec.address {
            Address::Ip(ip) => TcpStream::connect((*ip, spec.port.get())).await,
            Address::Name(name) => TcpStream::connect((&**name, spec.port.get())).await,
        }
    };
    match tokio::time::timeout(limit, connecting).await {
        Ok(connected) => connected.map_err(Unreached::Refused),
        Err(_) => Err(Unreached::Silent(limit)),
    }
}

//! One client's connection: which protocol it speaks, and the requests on it.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use crate::conn::Conn;
use crate::forward::forward;
use crate::guard::Guard;
use crate::spawner::Spawner;
use crate::wire;
use crate::worker::Worker;

/// What a client that speaks HTTP/2 sends first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What is read at most before it is known which protocol it is.
const FIRST: usize = 4 << 10;

/// How large what hyper reads or writes at once may grow, in bytes.
const BUFFER: usize = 64 << 10;

/// Serves a connection to its end.
pub(crate) async fn serve(
    worker: Arc<Worker>,
    stream: TcpStream,
    peer: SocketAddr,
    permit: OwnedSemaphorePermit,
) {
    wire::tune(&stream);
    let limits = &worker.shared.limits;
    let begun = tokio::select! {
        begun = tokio::time::timeout(limits.head, begin(&stream)) => begun,
        () = worker.drain.closing() => return,
    };
    let Ok(Ok(begun)) = begun else { return };
    let conn = Arc::new(Conn::new(peer, false, permit));
    if begun.starts_with(PREFACE) {
        let guard = Guard::http2(stream, conn.clone(), limits.clone(), begun);
        serve_http2(&worker, conn, guard).await;
    } else {
        let guard = Guard::http1(stream, conn.clone(), limits.clone(), worker.shared.mark.clone(), begun);
        serve_http1(&worker, conn, guard).await;
    }
}

/// Reads until it is known which protocol it is. Nothing is held for a client that sends nothing.
async fn begin(stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut begun = Vec::new();
    loop {
        stream.readable().await?;
        begun.reserve(FIRST);
        match stream.try_read_buf(&mut begun) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) if begun.len() < PREFACE.len() && PREFACE.starts_with(&begun) => {}
            Ok(_) => return Ok(begun),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn serve_http1<S>(worker: &Arc<Worker>, conn: Arc<Conn>, guard: Guard<S>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let limits = &worker.shared.limits;
    let mut http = http1::Builder::new();
    http.max_buf_size(BUFFER.max(limits.sizes.head)).max_headers(limits.sizes.fields).pipeline_flush(false);
    // The guard has the clocks.
    http.header_read_timeout(None::<Duration>);
    let service = service_fn(|request: Request<Incoming>| {
        let (worker, conn) = (worker.clone(), conn.clone());
        async move { Ok::<_, Infallible>(forward(worker, conn, request).await) }
    });
    let connection = http.serve_connection(TokioIo::new(guard), service).with_upgrades();
    tokio::pin!(connection);
    // How it ended is told by its requests.
    tokio::select! {
        biased;
        _ = connection.as_mut() => {}
        () = worker.drain.closing() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn serve_http2<S>(worker: &Arc<Worker>, conn: Arc<Conn>, guard: Guard<S>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let limits = &worker.shared.limits;
    let mut http = http2::Builder::new(Spawner(worker.tasks.clone()));
    http.timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(u32::try_from(limits.sizes.head).unwrap_or(u32::MAX))
        .initial_stream_window_size(256 << 10)
        .initial_connection_window_size(1 << 20)
        .max_send_buf_size(256 << 10)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    let service = service_fn(|request: Request<Incoming>| {
        let (worker, conn) = (worker.clone(), conn.clone());
        async move { Ok::<_, Infallible>(forward(worker, conn, request).await) }
    });
    let connection = http.serve_connection(TokioIo::new(guard), service);
    tokio::pin!(connection);
    tokio::select! {
        biased;
        _ = connection.as_mut() => {}
        () = worker.drain.stopping() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

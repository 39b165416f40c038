//! One worker: a thread with a runtime of its own, which takes connections from the listeners that all share.
//!
//! What a connection needs stays on its worker, the connections to its targets too: so nothing is handed from thread to
//! thread while a request is answered. All that workers share is in [`Shared`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use http::HeaderValue;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::drain::Drain;
use crate::failure::Disclose;
use crate::limits::Limits;
use crate::mark::Mark;
use crate::serve;
use crate::table::Table;

/// What all workers share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) table: ArcSwap<Table>,
    /// The node's name, once it is known.
    pub(crate) node: ArcSwap<String>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) disclose: Disclose,
    pub(crate) mark: Mark,
    /// One for each connection that may be.
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) drain: Drain,
    /// Cancelled when there is a table: until then connections wait.
    pub(crate) begin: CancellationToken,
}

/// How long connections wait for a table. Where there is still none, they are told so.
const PATIENCE: Duration = Duration::from_secs(3);

/// One worker.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared>,
    /// What it has under way.
    pub(crate) tasks: TaskTracker,
    /// Of this worker's own, so that looking at it is no matter of the others.
    pub(crate) drain: Drain,
    ids: Ids,
}

/// Makes ids of requests: a part that is this worker's alone, and a count.
#[derive(Debug)]
struct Ids {
    own: u64,
    next: AtomicU64,
}

impl Worker {
    pub(crate) fn new(index: usize, shared: Arc<Shared>) -> Self {
        let drain = shared.drain.child();
        let own = getrandom::u64().expect("the system gives randomness");
        let ids = Ids { own, next: AtomicU64::new(0) };
        Self { index, shared, tasks: TaskTracker::new(), drain, ids }
    }

    /// An id for a request.
    pub(crate) fn id(&self) -> HeaderValue {
        let next = self.ids.next.fetch_add(1, Ordering::Relaxed);
        let (high, low) = (self.ids.own >> 24, ((self.ids.own & 0xff_ffff) << 32).wrapping_add(next));
        HeaderValue::from_str(&format!("{high:010x}{low:014x}")).expect("digits are plain text")
    }

    /// Takes connections until it is asked to stop, and comes back when those that it took have ended, or have to.
    pub(crate) async fn run(self: Arc<Self>, listeners: Vec<TcpListener>) {
        let takers: Vec<_> =
            listeners.into_iter().map(|listener| self.tasks.spawn(self.clone().take(listener))).collect();
        self.drain.stopping().await;
        for taker in takers {
            // A panic in it was told by the hook.
            let _ = taker.await;
        }
        self.tasks.close();
        tokio::select! {
            () = self.tasks.wait() => {}
            () = self.drain.over() => {}
        }
    }

    async fn take(self: Arc<Self>, listener: TcpListener) {
        tokio::select! {
            () = self.shared.begin.cancelled() => {}
            () = tokio::time::sleep(PATIENCE) => {}
            () = self.drain.stopping() => return,
        }
        loop {
            let permit = tokio::select! {
                permit = self.shared.permits.clone().acquire_owned() => permit.expect("it is never closed"),
                () = self.drain.stopping() => return,
            };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.drain.stopping() => return,
            };
            match accepted {
                Ok((stream, peer)) => {
                    self.tasks.spawn(serve::serve(self.clone(), stream, peer, permit));
                }
                Err(error) => {
                    // A client that is gone already is no matter; where there are no files left, others have to end first.
                    if !matches!(error.kind(), std::io::ErrorKind::ConnectionAborted) {
                        tracing::warn!("cannot take a connection: {error}");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            }
        }
    }
}

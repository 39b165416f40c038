//! The three steps in which everything ends: no connection is taken any more and each answer says that it is the last of
//! its connection; then those that wait for a request end; then all that is left.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How far the end is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drain {
    stopping: CancellationToken,
    closing: CancellationToken,
    over: CancellationToken,
}

/// How long a client that has a connection may take to send one more request on it: one that was sent already when we were
/// asked to stop is answered.
const PATIENCE: Duration = Duration::from_millis(500);

impl Drain {
    /// One that ends with this one, and that its owner alone looks at.
    pub(crate) fn child(&self) -> Self {
        Self {
            stopping: self.stopping.child_token(),
            closing: self.closing.child_token(),
            over: self.over.child_token(),
        }
    }

    /// Goes through the three steps, each as early as `permits` say that no connection is left.
    pub(crate) async fn end(&self, deadline: Duration, permits: &Arc<Semaphore>, connections: usize) {
        self.stopping.cancel();
        let none_left = async {
            let all = u32::try_from(connections).unwrap_or(u32::MAX);
            let _ = permits.acquire_many(all).await;
        };
        tokio::pin!(none_left);
        let patience = PATIENCE.min(deadline);
        if tokio::time::timeout(patience, none_left.as_mut()).await.is_err() {
            self.closing.cancel();
            let rest = deadline.saturating_sub(patience);
            if tokio::time::timeout(rest, none_left).await.is_err() {
                tracing::warn!("what is not answered by now is cut off: {} s have gone", deadline.as_secs());
            }
        }
        self.closing.cancel();
        self.over.cancel();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// No connection is taken any more.
    pub(crate) async fn stopping(&self) {
        self.stopping.cancelled().await;
    }

    /// Connections without a request end.
    pub(crate) async fn closing(&self) {
        self.closing.cancelled().await;
    }

    /// Everything ends.
    pub(crate) async fn over(&self) {
        self.over.cancelled().await;
    }
}

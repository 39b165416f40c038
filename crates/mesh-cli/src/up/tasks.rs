//! The long-running parts of this process: each is told to stop, and heard of when it ends by itself.

use std::error::Error;
use std::future::Future;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::exit::Failure;

/// Parts that are stopped together.
#[derive(Debug, Clone)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    ended: mpsc::UnboundedSender<Ended>,
}

/// A part that ended though nobody told it to.
#[derive(Debug)]
pub(crate) struct Ended {
    name: String,
    error: Option<Box<dyn Error + Send + Sync>>,
}

#[derive(Debug, thiserror::Error)]
#[error("{name} ended")]
struct EndedError {
    name: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl From<Ended> for Failure {
    fn from(ended: Ended) -> Self {
        Self::new(EndedError { name: ended.name, source: ended.error })
    }
}

impl Tasks {
    /// None yet; whoever holds the receiver hears of what ends.
    pub(crate) fn new(ended: mpsc::UnboundedSender<Ended>) -> Self {
        Self { tracker: TaskTracker::new(), stop: CancellationToken::new(), ended }
    }

    /// Starts a part.
    pub(crate) fn start<F, E>(&self, name: String, run: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Error + Send + Sync + 'static,
    {
        let (stop, ended) = (self.stop.clone(), self.ended.clone());
        let run = run(stop.child_token());
        self.tracker.spawn(async move {
            let outcome = run.await;
            if !stop.is_cancelled() {
                let error = outcome.err().map(Into::into);
                // Nobody listens where everything ends at once.
                let _ = ended.send(Ended { name, error });
            }
        });
    }

    /// Tells all of them to stop, and waits for it. Each has a deadline of its own.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

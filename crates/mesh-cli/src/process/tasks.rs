//! The long-running parts of this process: each is told to stop, and heard of when it ends by itself.

use std::error::Error;
use std::future::Future;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
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
        // A task of its own, so that a panic in it is heard of like any other end.
        let mut part = JoinSet::new();
        part.spawn(run);
        self.tracker.spawn(async move {
            let outcome = part.join_next().await;
            let error: Option<Box<dyn Error + Send + Sync>> = match outcome {
                Some(Ok(outcome)) => outcome.err().map(Into::into),
                Some(Err(broken)) => Some(broken.into()),
                None => None,
            };
            if let (true, Some(error)) = (stop.is_cancelled(), &error) {
                tracing::warn!(part = name, %error, "it did not end well");
            }
            if !stop.is_cancelled() {
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

#[cfg(test)]
mod tests {
    //! A part that ends is heard of, however it ends.

    use super::*;

    #[tokio::test]
    async fn an_end_that_nobody_asked_for_is_told() {
        let (tell, mut ended) = mpsc::unbounded_channel();
        let tasks = Tasks::new(tell);
        tasks.start("a part".to_owned(), |_| async { Err::<(), _>(std::io::Error::other("it broke")) });
        assert_eq!(Failure::from(ended.recv().await.unwrap()).chain(), ["it broke", "a part ended"]);
        tasks.start("another".to_owned(), |_| async {
            panic!("a fault of ours") as Result<(), std::io::Error>
        });
        let chain = Failure::from(ended.recv().await.unwrap()).chain();
        assert!(chain[0].contains("panicked") && chain[1] == "another ended", "{chain:?}");
        tasks.start("a third".to_owned(), |stop| async move {
            stop.cancelled().await;
            Ok::<_, std::io::Error>(())
        });
        tasks.stop().await;
        assert!(ended.try_recv().is_err(), "what was told to end is not told of");
    }
}

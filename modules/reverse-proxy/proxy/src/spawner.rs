//! How hyper begins tasks: on the worker that asks, and counted, so that a stop waits for them.

use std::future::Future;

use tokio_util::task::TaskTracker;

/// Begins tasks on the worker that asks.
#[derive(Debug, Clone)]
pub(crate) struct Spawner(pub(crate) TaskTracker);

impl<F> hyper::rt::Executor<F> for Spawner
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}

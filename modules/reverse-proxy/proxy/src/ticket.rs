//! What is counted of one request, from its head to the last byte of its answer.
//!
//! Whoever works on the request hands it on; when it is dropped the request has ended, well or not.

use std::sync::Arc;

use crate::conn::Conn;
use crate::route::Route;
use crate::spare::Spare;
use crate::target::Target;
use crate::worker::Worker;

/// One request under way.
#[derive(Debug)]
pub(crate) struct Ticket {
    worker: Arc<Worker>,
    conn: Arc<Conn>,
    route: Option<Arc<Route>>,
    target: Option<Arc<Target>>,
    /// The connection that the answer comes over.
    over: Option<Spare>,
    sent: u64,
}

impl Ticket {
    pub(crate) fn new(worker: Arc<Worker>, conn: Arc<Conn>) -> Self {
        conn.work();
        Self { worker, conn, route: None, target: None, over: None, sent: 0 }
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }

    pub(crate) fn conn(&self) -> &Arc<Conn> {
        &self.conn
    }

    pub(crate) fn route(&self) -> Option<&Arc<Route>> {
        self.route.as_ref()
    }

    /// It goes by this route.
    pub(crate) fn goes_by(&mut self, route: Arc<Route>) {
        route.begin();
        self.route = Some(route);
    }

    /// It goes to this target, and to no other any more.
    pub(crate) fn goes_to(&mut self, target: Arc<Target>) {
        target.begin();
        if let Some(former) = self.target.replace(target) {
            former.end();
        }
    }

    /// The answer comes over this connection, which can take another request after it.
    pub(crate) fn comes_over(&mut self, spare: Spare) {
        self.over = Some(spare);
    }

    /// That much of the answer was passed on.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// All of the answer was passed on.
    pub(crate) fn completed(&mut self) {
        if let (Some(spare), Some(target)) = (self.over.take(), &self.target) {
            target.keep_spare(self.worker.index, spare, self.worker.shared.limits.target_spare);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(target) = &self.target {
            target.end();
        }
        if let Some(route) = &self.route {
            route.end();
        }
        self.conn.rest();
    }
}

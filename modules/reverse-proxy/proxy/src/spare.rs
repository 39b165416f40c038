//! A connection to a target.
//!
//! It lives on one worker, as what drives it does. One of HTTP/1 takes one request at a time, one of HTTP/2 as many as there
//! are. One that nobody uses for a while ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use tokio::time::Instant;

use crate::upload::Upload;

/// A connection, to be used or waiting for it.
#[derive(Debug)]
pub(crate) struct Spare {
    sender: Sender,
    clock: Arc<Clock>,
    is_taken: bool,
}

#[derive(Debug)]
enum Sender {
    Http1(http1::SendRequest<Upload>),
    Http2(http2::SendRequest<Upload>),
}

/// Since when a connection is not used.
#[derive(Debug)]
pub(crate) struct Clock {
    begun: Instant,
    users: AtomicUsize,
    /// Milliseconds since it was made.
    rests_since: AtomicU64,
}

impl Spare {
    /// One of HTTP/1, taken.
    pub(crate) fn http1(sender: http1::SendRequest<Upload>) -> Self {
        Self::taken(Sender::Http1(sender))
    }

    /// One of HTTP/2, taken.
    pub(crate) fn http2(sender: http2::SendRequest<Upload>) -> Self {
        Self::taken(Sender::Http2(sender))
    }

    fn taken(sender: Sender) -> Self {
        let clock =
            Clock { begun: Instant::now(), users: AtomicUsize::new(1), rests_since: AtomicU64::new(0) };
        Self { sender, clock: Arc::new(clock), is_taken: true }
    }

    pub(crate) fn clock(&self) -> Arc<Clock> {
        self.clock.clone()
    }

    /// Another user of the same connection, where it can have more than one.
    pub(crate) fn shared(&self) -> Option<Self> {
        let Sender::Http2(sender) = &self.sender else { return None };
        self.clock.users.fetch_add(1, Ordering::Relaxed);
        Some(Self { sender: Sender::Http2(sender.clone()), clock: self.clock.clone(), is_taken: true })
    }

    /// Whether it can take a request at once.
    pub(crate) fn is_ready(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_ready(),
            Sender::Http2(sender) => sender.is_ready(),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    /// It is used from now on.
    pub(crate) fn take(&mut self) {
        if !std::mem::replace(&mut self.is_taken, true) {
            self.clock.users.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// It waits from now on.
    pub(crate) fn rest(&mut self) {
        if std::mem::replace(&mut self.is_taken, false) {
            self.clock.rests_since.store(self.clock.now(), Ordering::Relaxed);
            self.clock.users.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// With the request, where nothing of it was sent.
    pub(crate) async fn send(
        &mut self,
        request: Request<Upload>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Upload>>> {
        match &mut self.sender {
            Sender::Http1(sender) => sender.try_send_request(request).await,
            Sender::Http2(sender) => sender.try_send_request(request).await,
        }
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        self.rest();
    }
}

impl Clock {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Comes back once nobody has used the connection for that long.
    pub(crate) async fn unused_for(&self, limit: Duration) {
        let mut wait = limit;
        loop {
            tokio::time::sleep(wait).await;
            wait = limit;
            if self.users.load(Ordering::Relaxed) == 0 {
                let since = self.rests_since.load(Ordering::Relaxed);
                let rested = Duration::from_millis(self.now().saturating_sub(since));
                if rested >= limit {
                    return;
                }
                wait = limit - rested;
            }
        }
    }
}

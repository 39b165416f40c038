//! A target that is live: what it has to do, whether it answers, and the connections to it that wait for a request.
//!
//! Connections belong to one target of one route of one module: when any of them changes, they go with it. So a name that
//! is handed to another module is never answered over a connection to the former.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mesh_routes::Address;
use tokio::sync::Notify;

use crate::spare::Spare;

/// A target that is live.
#[derive(Debug)]
pub(crate) struct Target {
    spec: mesh_routes::Target,
    /// Where its address is a number.
    fixed: Option<SocketAddr>,
    /// Requests under way.
    load: AtomicUsize,
    down: AtomicBool,
    went_down: Notify,
    /// For each worker, the connections that it may use; the one that was used last is the last.
    spare: Box<[Mutex<Vec<Spare>>]>,
}

impl Target {
    pub(crate) fn new(spec: mesh_routes::Target, workers: usize) -> Self {
        let fixed = match &spec.address {
            Address::Ip(ip) => Some(SocketAddr::new(*ip, spec.port.get())),
            Address::Name(_) => None,
        };
        let spare = (0..workers).map(|_| Mutex::new(Vec::new())).collect();
        let (load, down, went_down) = (AtomicUsize::new(0), AtomicBool::new(false), Notify::new());
        Self { spec, fixed, load, down, went_down, spare }
    }

    pub(crate) fn spec(&self) -> &mesh_routes::Target {
        &self.spec
    }

    /// Its address, where it is a number.
    pub(crate) fn fixed(&self) -> Option<SocketAddr> {
        self.fixed
    }

    pub(crate) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.load.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.load.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn is_down(&self) -> bool {
        self.down.load(Ordering::Relaxed)
    }

    /// Takes note of whether it could be reached just now, and returns whether that is news.
    pub(crate) fn reached(&self, reached: Reached) -> bool {
        let down = reached == Reached::No;
        // Read first: at each request it is the same as before.
        let is_news = self.is_down() != down && self.down.swap(down, Ordering::Relaxed) != down;
        if is_news && down {
            self.went_down.notify_waiters();
        }
        is_news
    }

    /// Comes back when it was found out that it cannot be reached.
    pub(crate) async fn went_down(&self) {
        self.went_down.notified().await;
    }

    /// A connection that can take a request at once.
    pub(crate) fn take_spare(&self, worker: usize) -> Option<Spare> {
        let mut spare = self.spare[worker].lock().expect("nobody panics with it");
        loop {
            let last = spare.last()?;
            if let Some(shared) = last.is_ready().then(|| last.shared()).flatten() {
                return Some(shared);
            }
            let mut last = spare.pop()?;
            if last.is_ready() {
                last.take();
                return Some(last);
            }
        }
    }

    /// Keeps a connection for the next request, unless there are enough.
    pub(crate) fn keep_spare(&self, worker: usize, mut one: Spare, most: usize) {
        let mut spare = self.spare[worker].lock().expect("nobody panics with it");
        if spare.len() >= most {
            spare.retain(|other| !other.is_closed());
        }
        if spare.len() < most {
            one.rest();
            spare.push(one);
        }
    }
}

/// Whether a target could be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    Yes,
    No,
}

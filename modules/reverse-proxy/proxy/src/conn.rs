//! One client's connection, as the guard of its bytes and the requests on it know it.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::Context;

use futures_util::task::AtomicWaker;
use http::HeaderValue;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::gate::{Refusal, Upgrade};

/// One client's connection.
#[derive(Debug)]
pub(crate) struct Conn {
    /// Who sends.
    pub(crate) peer: SocketAddr,
    /// Whether it is TLS.
    pub(crate) secure: bool,
    /// The sender's address as a field's value.
    pub(crate) peer_text: HeaderValue,
    /// Requests that are not answered to the end.
    busy: AtomicUsize,
    idle_since: Mutex<Instant>,
    /// What the guard refused, from 1.
    refused: AtomicU8,
    upgrade: AtomicU8,
    decided: AtomicWaker,
    /// Given back once nothing of the connection is left, whatever is spoken on it by then.
    _permit: OwnedSemaphorePermit,
}

const GRANTED: u8 = 1;
const REFUSED: u8 = 2;

impl Conn {
    pub(crate) fn new(peer: SocketAddr, secure: bool, permit: OwnedSemaphorePermit) -> Self {
        // Where a listener has an IPv6 address, IPv4 arrives in its clothes.
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let text = HeaderValue::from_str(&peer.ip().to_string()).expect("an address is plain text");
        Self {
            peer,
            secure,
            peer_text: text,
            busy: AtomicUsize::new(0),
            idle_since: Mutex::new(Instant::now()),
            refused: AtomicU8::new(0),
            upgrade: AtomicU8::new(0),
            decided: AtomicWaker::new(),
            _permit: permit,
        }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// A request has begun; it has ended when the same number of [`Conn::rest`] has come.
    pub(crate) fn work(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn rest(&self) {
        // Before the count, so that nobody sees an end without its time.
        *self.idle_since.lock().expect("nobody panics with it") = Instant::now();
        self.busy.fetch_sub(1, Ordering::Release);
    }

    /// Since when there is no request, where there is none.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let idle = self.busy.load(Ordering::Acquire) == 0;
        idle.then(|| *self.idle_since.lock().expect("nobody panics with it"))
    }

    pub(crate) fn refuse(&self, refusal: Refusal) {
        self.refused.store(refusal as u8 + 1, Ordering::Release);
    }

    /// What the guard refused, if it did.
    pub(crate) fn refused(&self) -> Option<Refusal> {
        let at = self.refused.load(Ordering::Acquire).checked_sub(1)?;
        Some(Refusal::ALL[usize::from(at)])
    }

    /// Says what became of the wish for another protocol.
    pub(crate) fn decide(&self, upgrade: Upgrade) {
        let number = if upgrade == Upgrade::Granted { GRANTED } else { REFUSED };
        self.upgrade.store(number, Ordering::Release);
        self.decided.wake();
    }

    /// What became of it, once; whoever is told nothing is woken when there is something to tell.
    pub(crate) fn decision(&self, cx: &mut Context<'_>) -> Option<Upgrade> {
        self.decided.register(cx.waker());
        match self.upgrade.swap(0, Ordering::AcqRel) {
            GRANTED => Some(Upgrade::Granted),
            REFUSED => Some(Upgrade::Refused),
            _ => None,
        }
    }
}

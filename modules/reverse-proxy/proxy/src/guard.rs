//! What stands between a client's bytes and whoever reads them: the [`Gate`], and the clocks.
//!
//! Only bytes that the gate passes are read. In the place of a head that it refuses one is read that says so, by a field
//! whose name nobody outside can know; so the answer comes in its turn, after those to the requests before it, with a page
//! and a request id like any other. Then nothing more is read. A body that is refused in its middle is an error.
//!
//! The clocks: a head has to come in time, a connection without a request ends, and a client that does not take what is
//! written to it is left. How fast a body has to come is [`crate::body`]'s.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::conn::Conn;
use crate::gate::{Gate, Passed, Refusal, Then};
use crate::limits::Limits;
use crate::mark::Mark;
use crate::pace::Pace;

/// How long what a refused client still sends is read and thrown away, so that it gets to see why.
const LINGER: Duration = Duration::from_secs(1);

/// A client's bytes, guarded.
pub(crate) struct Guard<S> {
    io: S,
    conn: Arc<Conn>,
    limits: Arc<Limits>,
    /// None where the protocol looks after itself, as HTTP/2 does.
    gate: Option<Gated>,
    /// Was read before, where there is no gate.
    begun: Vec<u8>,
    /// When a head has begun to come, while it is not whole.
    head_since: Option<Instant>,
    timer: Pin<Box<Sleep>>,
    writing: Pace,
    lingering: Option<Lingering>,
}

struct Gated {
    gate: Gate,
    mark: Mark,
    /// Came, and did not pass yet.
    held: Vec<u8>,
    /// Passed, and was not read yet.
    passed: Vec<u8>,
    state: Reading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Open,
    /// Until it is decided which protocol is spoken.
    Undecided,
    /// Nothing more is read.
    Shut,
    /// A body cannot be read on.
    Broken(Refusal),
}

enum Lingering {
    Closing,
    Draining(Pin<Box<Sleep>>),
}

impl<S> Guard<S> {
    /// For HTTP/1, with what was read already.
    pub(crate) fn http1(io: S, conn: Arc<Conn>, limits: Arc<Limits>, mark: Mark, begun: Vec<u8>) -> Self {
        let (gate, silent) = (Gate::new(limits.sizes), begun.is_empty());
        let mut gated = Gated { gate, mark, held: begun, passed: Vec::new(), state: Reading::Open };
        gated.look_again(&conn);
        let mut guard = Self::new(io, conn, limits, Some(gated));
        if !silent {
            guard.note_head();
        }
        guard
    }

    /// For HTTP/2: the clocks alone.
    pub(crate) fn http2(io: S, conn: Arc<Conn>, limits: Arc<Limits>, begun: Vec<u8>) -> Self {
        Self { begun, ..Self::new(io, conn, limits, None) }
    }

    fn new(io: S, conn: Arc<Conn>, limits: Arc<Limits>, gate: Option<Gated>) -> Self {
        let now = Instant::now();
        let timer = Box::pin(tokio::time::sleep_until(now + limits.head));
        let writing = Pace::new(limits.stall);
        let (begun, head_since) = (Vec::new(), Some(now));
        Self { io, conn, limits, gate, begun, head_since, timer, writing, lingering: None }
    }

    /// A head that is not whole has its clock.
    fn note_head(&mut self) {
        let waits =
            self.gate.as_ref().is_some_and(|gated| gated.state == Reading::Open && !gated.held.is_empty());
        match waits {
            true => self.head_since = self.head_since.or_else(|| Some(Instant::now())),
            false => self.head_since = None,
        }
    }

    /// Ready when nothing has come for too long.
    fn poll_overdue(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let idle_end = |since| since + self.limits.idle;
            let end = match self.head_since {
                Some(since) => since + self.limits.head,
                // Between two requests, or else somebody else waits for it and has the clock.
                None => match self.conn.idle_since() {
                    Some(since) if self.gate.as_ref().is_none_or(|gated| gated.gate.is_between()) => {
                        idle_end(since)
                    }
                    _ => return Poll::Pending,
                },
            };
            if end <= Instant::now() {
                return Poll::Ready(());
            }
            // One that rings too early is set again when it does: so it need not be touched at each request.
            if self.timer.is_elapsed() || self.timer.deadline() > end {
                self.timer.as_mut().reset(end);
            }
            ready!(self.timer.as_mut().poll(cx));
        }
    }
}

/// Moves bytes into a reader's buffer, and keeps no room for them.
fn give(bytes: &mut Vec<u8>, buf: &mut ReadBuf<'_>) -> bool {
    if bytes.is_empty() {
        return false;
    }
    let now = bytes.len().min(buf.remaining());
    buf.put_slice(&bytes[..now]);
    bytes.drain(..now);
    if bytes.is_empty() {
        *bytes = Vec::new();
    }
    now > 0
}

impl Gated {
    /// Gives out what has passed.
    fn give(&mut self, buf: &mut ReadBuf<'_>) -> bool {
        give(&mut self.passed, buf)
    }

    /// Takes note of what the gate says of what comes next.
    fn note(&mut self, then: Then, conn: &Conn) {
        match then {
            Then::Go | Then::More => {}
            Then::Undecided => self.state = Reading::Undecided,
            Then::Refused(refusal) => self.refuse(refusal, conn),
        }
    }

    fn refuse(&mut self, refusal: Refusal, conn: &Conn) {
        self.held = Vec::new();
        conn.refuse(refusal);
        if self.gate.is_between() {
            self.passed.extend_from_slice(self.mark.head().as_bytes());
            self.state = Reading::Shut;
        } else {
            self.state = Reading::Broken(refusal);
        }
    }

    /// Looks at what is held once more, with what came after it.
    fn look_again(&mut self, conn: &Conn) {
        let Passed { bytes, then } = self.gate.pass(&self.held);
        self.passed.extend(self.held.drain(..bytes));
        if self.held.is_empty() {
            self.held = Vec::new();
        }
        self.note(then, conn);
    }

    /// Looks at what was just read from `before` on, and leaves in the buffer what passes.
    fn look(&mut self, buf: &mut ReadBuf<'_>, before: usize, conn: &Conn) {
        let fresh = &buf.filled()[before..];
        if !self.held.is_empty() {
            self.held.extend_from_slice(fresh);
            buf.set_filled(before);
            return self.look_again(conn);
        }
        let Passed { bytes, then } = self.gate.pass(fresh);
        self.held.extend_from_slice(&fresh[bytes..]);
        buf.set_filled(before + bytes);
        self.note(then, conn);
    }
}

impl<S: AsyncRead + Unpin> Guard<S> {
    fn poll_gated(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let gated = self.gate.as_mut().expect("it is asked for a gate only where there is one");
            if gated.give(buf) {
                return Poll::Ready(Ok(()));
            }
            match gated.state {
                Reading::Open => {}
                // An end would be taken for the client's, and the answer be kept from it.
                Reading::Shut => return Poll::Pending,
                Reading::Broken(refusal) => {
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, refusal)));
                }
                Reading::Undecided => {
                    let Some(upgrade) = self.conn.decision(cx) else { return Poll::Pending };
                    gated.state = Reading::Open;
                    gated.gate.decide(upgrade);
                    gated.look_again(&self.conn);
                    self.note_head();
                    continue;
                }
            }
            let before = buf.filled().len();
            match Pin::new(&mut self.io).poll_read(cx, buf) {
                Poll::Pending => {
                    ready!(self.poll_overdue(cx));
                    let gated = self.gate.as_mut().expect("as above");
                    if gated.held.is_empty() {
                        gated.state = Reading::Shut;
                        return Poll::Ready(Ok(()));
                    }
                    self.head_since = None;
                    gated.refuse(Refusal::HeadTooSlow, &self.conn);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) if buf.filled().len() == before => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(())) => {
                    let gated = self.gate.as_mut().expect("as above");
                    gated.look(buf, before, &self.conn);
                    self.note_head();
                    if buf.filled().len() > before {
                        return Poll::Ready(Ok(()));
                    }
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.gate.is_some() {
            return this.poll_gated(cx, buf);
        }
        if give(&mut this.begun, buf) {
            return Poll::Ready(Ok(()));
        }
        match Pin::new(&mut this.io).poll_read(cx, buf) {
            Poll::Pending => {
                ready!(this.poll_overdue(cx));
                Poll::Ready(Ok(()))
            }
            read => {
                this.head_since = None;
                read
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> Guard<S> {
    fn paced<T>(
        &mut self,
        cx: &mut Context<'_>,
        done: Poll<io::Result<T>>,
        bytes: impl Fn(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        match &done {
            Poll::Ready(Ok(value)) => self.writing.moved(bytes(value)),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                ready!(self.writing.poll_exhausted(cx));
                let why = "the client does not take what is sent to it";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)));
            }
        }
        done
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guard<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.paced(cx, done, |written| *written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.paced(cx, done, |written| *written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.io).poll_flush(cx);
        self.paced(cx, done, |()| 0)
    }

    /// A system that is handed bytes after it has closed answers with a reset, which takes what was written away from the
    /// client; so whoever is refused in the middle of sending is listened to for a moment.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            match &mut this.lingering {
                None => this.lingering = Some(Lingering::Closing),
                Some(Lingering::Closing) => {
                    ready!(Pin::new(&mut this.io).poll_shutdown(cx))?;
                    if this.conn.refused().is_none() {
                        return Poll::Ready(Ok(()));
                    }
                    this.lingering = Some(Lingering::Draining(Box::pin(tokio::time::sleep(LINGER))));
                }
                Some(Lingering::Draining(timer)) => {
                    let mut waste = [0; 4096];
                    let mut waste = ReadBuf::new(&mut waste);
                    match Pin::new(&mut this.io).poll_read(cx, &mut waste) {
                        Poll::Ready(Ok(())) if !waste.filled().is_empty() => {
                            if timer.is_elapsed() {
                                return Poll::Ready(Ok(()));
                            }
                        }
                        Poll::Ready(_) => return Poll::Ready(Ok(())),
                        Poll::Pending => return timer.as_mut().poll(cx).map(Ok),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

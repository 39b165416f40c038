//! An answer's body on its way to the client: one of ours, or a target's, passed on as it comes and kept nowhere.
//!
//! It carries the request's [`Ticket`], so that what has to happen when the answer has ended does, however that comes
//! about. One whose route was withdrawn some time ago is cut off.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use thiserror::Error;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::ticket::Ticket;

/// An answer's body.
#[derive(Debug)]
pub(crate) struct Body {
    kind: Kind,
    ticket: Option<Box<Ticket>>,
    /// Made when it has to be waited for the first time: most bodies come with their head.
    ended: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

#[derive(Debug)]
enum Kind {
    Ours(Bytes),
    Targets(Incoming),
}

/// Why a body ends early.
#[derive(Debug, Error)]
pub(crate) enum BodyError {
    #[error("the target broke off")]
    Target(#[source] hyper::Error),
    #[error("the route was withdrawn")]
    Withdrawn,
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::of(Kind::Ours(Bytes::new()))
    }

    pub(crate) fn text(text: String) -> Self {
        Self::of(Kind::Ours(text.into()))
    }

    pub(crate) fn targets(incoming: Incoming) -> Self {
        Self::of(Kind::Targets(incoming))
    }

    fn of(kind: Kind) -> Self {
        Self { kind, ticket: None, ended: None }
    }

    /// Hands it what has to be done once it has ended.
    pub(crate) fn carrying(mut self, ticket: Box<Ticket>) -> Self {
        let done = self.is_end_stream();
        self.ticket = Some(ticket);
        self.moved(0, done);
        self
    }

    fn moved(&mut self, bytes: usize, done: bool) {
        if let Some(ticket) = &mut self.ticket {
            ticket.sent(bytes);
            if done {
                ticket.completed();
            }
        }
    }

    fn poll_withdrawn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(route) = self.ticket.as_ref().and_then(|ticket| ticket.route()) else {
            return Poll::Pending;
        };
        let ended = self.ended.get_or_insert_with(|| Box::pin(route.ended().clone().cancelled_owned()));
        ended.as_mut().poll(cx)
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let incoming = match &mut this.kind {
            Kind::Ours(bytes) if bytes.is_empty() => return Poll::Ready(None),
            Kind::Ours(bytes) => {
                let bytes = std::mem::take(bytes);
                this.moved(bytes.len(), true);
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            Kind::Targets(incoming) => incoming,
        };
        match Pin::new(&mut *incoming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let (bytes, done) = (frame.data_ref().map_or(0, Bytes::len), incoming.is_end_stream());
                this.moved(bytes, done);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => {
                this.moved(0, true);
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(BodyError::Target(error)))),
            Poll::Pending => this.poll_withdrawn(cx).map(|()| Some(Err(BodyError::Withdrawn))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Ours(bytes) => bytes.is_empty(),
            Kind::Targets(incoming) => incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Ours(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Targets(incoming) => incoming.size_hint(),
        }
    }
}

//! A request's body on its way to the target.
//!
//! It is passed on as it comes and kept nowhere; the client is not read faster than the target takes it. A client that
//! keeps the target waiting for too long is given up.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use thiserror::Error;

use crate::limits::Stall;
use crate::pace::Pace;

/// A request's body.
#[derive(Debug)]
pub(crate) enum Upload {
    /// There is none, so the request can be sent again.
    Empty,
    /// It can be sent once.
    Stream(Box<Stream>),
}

#[derive(Debug)]
pub(crate) struct Stream {
    incoming: Incoming,
    pace: Pace,
    fate: Fate,
}

/// Why a body did not arrive, for whoever has to say it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fate(Arc<AtomicU8>);

/// Why a client's body did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Broken {
    #[error("the client's body did not arrive in time")]
    TooSlow,
    #[error("the client's body could not be read to its end")]
    Unreadable,
}

impl Upload {
    /// The body of a request, and what will be known of it.
    pub(crate) fn of(incoming: Incoming, stall: Stall) -> (Self, Fate) {
        let fate = Fate::default();
        if incoming.is_end_stream() {
            return (Self::Empty, fate);
        }
        let stream = Stream { incoming, pace: Pace::new(stall), fate: fate.clone() };
        (Self::Stream(Box::new(stream)), fate)
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }
}

impl Fate {
    pub(crate) fn broken(&self) -> Option<Broken> {
        match self.0.load(Ordering::Acquire) {
            1 => Some(Broken::TooSlow),
            2 => Some(Broken::Unreadable),
            _ => None,
        }
    }

    fn set(&self, broken: Broken) -> Broken {
        self.0.store(if broken == Broken::TooSlow { 1 } else { 2 }, Ordering::Release);
        broken
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let stream = match self.get_mut() {
            Self::Empty => return Poll::Ready(None),
            Self::Stream(stream) => &mut **stream,
        };
        match Pin::new(&mut stream.incoming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                stream.pace.moved(frame.data_ref().map_or(0, Bytes::len));
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(_))) => Poll::Ready(Some(Err(stream.fate.set(Broken::Unreadable)))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => match stream.pace.poll_exhausted(cx) {
                Poll::Ready(()) => Poll::Ready(Some(Err(stream.fate.set(Broken::TooSlow)))),
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Stream(stream) => stream.incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Stream(stream) => stream.incoming.size_hint(),
        }
    }
}

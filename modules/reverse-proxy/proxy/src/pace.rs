//! Whether a transfer is slower than it may be: it has some time to stand still, which passes only while it is waited for,
//! and each byte gives some of it back.
//!
//! So one byte a minute does not do, nor is anybody cut off whom the other side keeps waiting.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::limits::Stall;

/// Measures one transfer in one direction.
#[derive(Debug)]
pub(crate) struct Pace {
    stall: Stall,
    left: Duration,
    /// Since when it is waited for.
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Pace {
    pub(crate) fn new(stall: Stall) -> Self {
        Self { stall, left: stall.still, since: None, timer: None }
    }

    /// Some bytes have moved.
    pub(crate) fn moved(&mut self, bytes: usize) {
        let Some(since) = self.since.take() else { return };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let earned = Duration::from_secs(1).saturating_mul(bytes) / self.stall.rate.max(1);
        self.left = self.left.saturating_sub(since.elapsed()).saturating_add(earned).min(self.stall.still);
    }

    /// Nothing moves: ready once that is for too long, and woken then.
    pub(crate) fn poll_exhausted(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (left, since) = (self.left, *self.since.get_or_insert_with(Instant::now));
        let end = since + left;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        if timer.deadline() != end {
            timer.as_mut().reset(end);
        }
        timer.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    //! Standing still ends; going on, however slowly above the rate, does not.

    use super::*;

    const STALL: Stall = Stall { still: Duration::from_secs(10), rate: 100 };

    async fn lasts(mut step: impl FnMut() -> (Duration, usize)) -> Option<Duration> {
        let (begun, mut pace) = (Instant::now(), Pace::new(STALL));
        while begun.elapsed() < Duration::from_secs(600) {
            let (wait, bytes) = step();
            let exhausted = std::future::poll_fn(|cx| pace.poll_exhausted(cx));
            if tokio::time::timeout(wait, exhausted).await.is_ok() {
                return Some(begun.elapsed());
            }
            pace.moved(bytes);
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn a_transfer_that_stands_still_ends() {
        let ended = lasts(|| (Duration::from_secs(60), 0)).await.unwrap();
        assert!(ended >= Duration::from_secs(10) && ended < Duration::from_secs(11), "{ended:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_byte_at_a_time_does_not_do() {
        let ended = lasts(|| (Duration::from_secs(1), 1)).await.unwrap();
        assert!(ended < Duration::from_secs(12), "{ended:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_keeps_the_rate_goes_on() {
        assert_eq!(lasts(|| (Duration::from_secs(1), 110)).await, None);
    }
}

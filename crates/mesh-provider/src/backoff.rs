//! How long to wait before trying again: longer each time, up to a limit, and never in step with others.

use std::time::Duration;

/// Doubles from `first` to `limit`; each wait is between half of that and all of it.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    first: Duration,
    limit: Duration,
    step: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, limit: Duration) -> Self {
        Self { first, limit, step: first }
    }

    /// The next wait.
    pub(crate) fn wait(&mut self) -> Duration {
        let whole = self.step.min(self.limit);
        self.step = whole.saturating_mul(2);
        jittered(whole, getrandom::u32().unwrap_or(u32::MAX))
    }

    /// Something went well: begin anew.
    pub(crate) fn reset(&mut self) {
        self.step = self.first;
    }
}

fn jittered(whole: Duration, random: u32) -> Duration {
    whole / 2 + (whole / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests;

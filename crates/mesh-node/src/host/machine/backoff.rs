//! How long to wait before a service that ended is started again.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// Well for so long, and what was before is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Doubles from one second to thirty.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The next wait: up to a quarter longer by chance, and never longer than the longest.
    pub(super) fn next(&mut self, chance: f64) -> Duration {
        let wait = FIRST.saturating_mul(2_u32.saturating_pow(self.failures));
        self.failures = self.failures.saturating_add(1);
        wait.mul_f64(1.0 + chance.clamp(0.0, 1.0) / 4.0).min(LONGEST)
    }

    pub(super) fn is_well_since(&mut self, since: Duration, now: Duration) {
        if now.saturating_sub(since) >= FORGOTTEN {
            self.failures = 0;
        }
    }

    /// How often in a row it has ended.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }
}

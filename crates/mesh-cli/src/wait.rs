//! `--wait`: looks until everything is applied, and shows what is waited for and why meanwhile.
//!
//! A seat that does not answer for a moment is waited for too; once the time is over, that is why.

use std::time::Duration;

use mesh_bus::Bus;
use tokio::time::{Instant, sleep, timeout_at};

use crate::exit::{Exit, Failure};
use crate::look::Looker;
use crate::progress::Progress;
use crate::screen::Screen;
use crate::status::{State, Status};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(250);

/// What came of waiting.
#[derive(Debug)]
pub(crate) enum Waited {
    /// Everything is applied.
    Settled(Status),
    /// The time is over.
    RanOut(Status),
}

/// Looks until everything is applied, for so long; without end where no time is given.
pub(crate) async fn until_settled(
    bus: &Bus,
    screen: &Screen,
    timeout: Option<Duration>,
) -> Result<Waited, Failure> {
    let end = timeout.map(|timeout| Instant::now() + timeout);
    let mut looker = Looker::new(bus);
    let mut progress = Progress::new(*screen);
    let mut last = None;
    loop {
        let looked = match end {
            // One look takes no longer than what is left of the time.
            Some(end) => timeout_at(end, looker.look()).await.ok(),
            None => Some(looker.look().await),
        };
        match looked {
            Some(Ok(status)) if status.settled => return Ok(Waited::Settled(status)),
            Some(Ok(status)) => {
                progress.show(lines(&status));
                last = Some(Ok(status));
            }
            Some(Err(failure)) if failure.exit == Exit::Unreachable => {
                progress.show(failure.chain());
                last = Some(Err(failure));
            }
            Some(Err(failure)) => return Err(failure),
            None => {}
        }
        if let Some(ended) = end.filter(|end| Instant::now() + PAUSE >= *end).and(last.take()) {
            return ended.map(Waited::RanOut);
        }
        sleep(PAUSE).await;
    }
}

/// What is waited for and why, a line each.
pub(crate) fn lines(status: &Status) -> Vec<String> {
    let mut lines: Vec<String> = status.why.clone().into_iter().collect();
    for (node, module) in status.modules().filter(|(_, module)| module.state != State::Applied) {
        let place = format!("{}@{node}", module.module);
        let reasons = module.reasons();
        match reasons.is_empty() {
            true => lines.push(format!("{place} {}", module.state.as_str())),
            false => {
                lines.extend(reasons.iter().map(|why| format!("{place} {}: {why}", module.state.as_str())))
            }
        }
    }
    lines
}

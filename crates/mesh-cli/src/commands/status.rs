//! `mesh status`: nodes, modules, services; what waits for what, and why.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::arguments::Format;
use crate::exit::{Exit, Failure};
use crate::look::Looker;
use crate::reach::{BusArgs, ReachError};
use crate::screen::Screen;
use crate::wait::{Waited, until_settled};

/// Between two tries to reach a bus that is away.
const PAUSE: Duration = Duration::from_millis(250);

/// What is shown, and whether it is waited for.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Wait until everything is applied
    #[arg(long)]
    wait: bool,
    /// For how many seconds at most
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "wait")]
    timeout: u64,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    bus: BusArgs,
}

/// The time of `--wait` is over.
#[derive(Debug, Error)]
#[error("not everything is applied after {seconds} seconds")]
struct RanOut {
    seconds: u64,
}

/// Shows how the mesh stands.
pub(crate) async fn run(args: StatusArgs, screen: &Screen) -> Result<Exit, Failure> {
    let waited = match args.wait {
        true => wait(&args, screen).await?,
        false => {
            let bus = args.bus.connect(Path::new("")).await?;
            Waited::Settled(Looker::new(&bus).look().await?)
        }
    };
    let (Waited::Settled(status) | Waited::RanOut(status)) = &waited;
    match args.format {
        Format::Json => screen.print_json(status)?,
        Format::Text => screen.print(status.table(screen))?,
    }
    match waited {
        Waited::Settled(_) => Ok(Exit::Done),
        Waited::RanOut(_) => Err(ran_out(args.timeout)),
    }
}

/// Waits until everything is applied; a bus that is away for a moment is waited for as well.
async fn wait(args: &StatusArgs, screen: &Screen) -> Result<Waited, Failure> {
    let end = Instant::now() + Duration::from_secs(args.timeout);
    let bus = loop {
        match args.bus.connect(Path::new("")).await {
            Err(ReachError::Gone { .. }) if Instant::now() + PAUSE < end => sleep(PAUSE).await,
            connected => break connected?,
        }
    };
    until_settled(&bus, screen, Some(end.saturating_duration_since(Instant::now()))).await
}

/// The time of `--wait` is over.
pub(crate) fn ran_out(seconds: u64) -> Failure {
    Failure::new(RanOut { seconds })
        .exit(Exit::RanOut)
        .hint("`mesh status` says what waits for what; `mesh logs MODULE` what its services say")
}

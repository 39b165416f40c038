//! `mesh apply`: plans, shows, asks, hands over; and waits until it is so.

use std::io::BufRead;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mesh_bus::Bus;
use mesh_plan::diff::Kind;
use thiserror::Error;

use crate::arguments::Format;
use crate::commands::hand_over::{hand_over, taken};
use crate::commands::status::ran_out;
use crate::escrow;
use crate::exit::{Exit, Failure};
use crate::planning::{InEffect, told};
use crate::reach::BusArgs;
use crate::screen::Screen;
use crate::wait::{Waited, until_settled};

/// Which description, and how.
#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// The folder with mesh.yaml in it
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Wait until everything is applied
    #[arg(long)]
    wait: bool,
    /// For how many seconds at most
    #[arg(long, value_name = "SECONDS", default_value_t = 300, requires = "wait")]
    timeout: u64,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    bus: BusArgs,
}

/// Why it was not applied.
#[derive(Debug, Error)]
enum ApplyError {
    #[error("there is nobody to ask: standard input or standard error is no terminal")]
    NobodyToAsk,
    #[error("not applied: nothing was touched")]
    Declined,
}

/// Lets it take effect.
pub(crate) async fn run(args: ApplyArgs, screen: &Screen) -> Result<Exit, Failure> {
    if !args.yes && !screen.asks {
        return Err(Failure::new(ApplyError::NobodyToAsk)
            .exit(Exit::WrongUsage)
            .hint("`mesh apply --yes` applies without asking; `mesh plan` shows what would change"));
    }
    let bus = args.bus.connect(&args.dir).await?;
    let read = InEffect::read(&bus, screen).await?.plan(&args.dir)?;
    read.accepted(screen)?;
    let changes = read.changes.iter().any(|change| change.change != Kind::None);
    let escrow = escrow::lines(&escrow::of(&read, Some(&bus), screen).await);
    let words = told(&read.outcome, &read.changes, screen);
    match args.format {
        Format::Text => screen.print(words)?,
        Format::Json => screen.draw(&words),
    }
    escrow.iter().for_each(|line| screen.say(line));
    if changes && !args.yes {
        confirmed(screen)?;
    }
    let answer = hand_over(&bus, &read, read.follows.clone(), screen).await?;
    if args.format == Format::Json {
        screen.print_json(&answer)?;
    }
    taken(&answer, &read, screen)?;
    match args.wait {
        true => wait(&bus, args.timeout, screen).await,
        false => Ok(Exit::Done),
    }
}

fn confirmed(screen: &Screen) -> Result<(), Failure> {
    screen.draw("apply this? [y/N] ");
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    match read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes") {
        true => Ok(()),
        false => Err(Failure::new(ApplyError::Declined)),
    }
}

async fn wait(bus: &Bus, seconds: u64, screen: &Screen) -> Result<Exit, Failure> {
    match until_settled(bus, screen, Some(Duration::from_secs(seconds))).await? {
        Waited::Settled(_) => {
            screen.say("everything is applied");
            Ok(Exit::Done)
        }
        Waited::RanOut(status) => {
            crate::wait::lines(&status).iter().for_each(|line| screen.say(line));
            Err(ran_out(seconds))
        }
    }
}

//! `mesh secret rotate`: has the vault replace a credential, and shows how far it is.
//!
//! The rotation is the vault's: it goes on when this command is ended, and whoever asks again sees how it stands.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use mesh_bus::Bus;
use mesh_bus::verb::{AskError, ask};
use mesh_model::name::{ModuleName, NameError, NodeName};
use mesh_model::wire::{RotateAnswer, RotateAsk, RotateOrder, RotationState, RotationTold};
use mesh_seal::SystemRandom;
use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::arguments::Format;
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::reach::BusArgs;
use crate::rotation::{is_over, lines, name, rotations};
use crate::screen::Screen;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// What is rotated, and how.
#[derive(Debug, Args)]
pub(crate) struct RotateArgs {
    /// The module, and its need or its own secret: notes.db, postgres.superuser
    #[arg(value_name = "MODULE.NAME")]
    secret: Rotated,
    /// On this node alone; left out, on each node that the module runs on
    #[arg(long)]
    node: Option<NodeName>,
    /// How many consumers may be between two credentials at once
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    at_once: u16,
    /// For how many seconds a consumer may be unwell with the new one before the rotation stops
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience: u32,
    /// For how many seconds nothing may come of a consumer before the rotation stops
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    deadline: u32,
    /// Go on with a rotation that has stopped
    #[arg(long, conflicts_with_all = ["node", "at_once", "patience", "deadline", "abandon"])]
    resume: bool,
    /// Give a rotation up: who is between two credentials goes back to the former one
    #[arg(long, conflicts_with_all = ["node", "at_once", "patience", "deadline"])]
    abandon: bool,
    /// Come back as soon as it has begun
    #[arg(long)]
    no_wait: bool,
    /// For how many seconds to wait at most
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_wait")]
    timeout: Option<u64>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    bus: BusArgs,
}

/// What is rotated.
#[derive(Debug, Clone)]
struct Rotated {
    module: ModuleName,
    name: String,
}

/// A text that names nothing that could be rotated.
#[derive(Debug, Error)]
enum NotNamed {
    #[error("it is written MODULE.NAME, as in `notes.db`")]
    Parts,
    #[error(transparent)]
    Name(#[from] NameError),
}

impl std::str::FromStr for Rotated {
    type Err = NotNamed;

    fn from_str(text: &str) -> Result<Self, NotNamed> {
        let (module, name) = text.split_once('.').ok_or(NotNamed::Parts)?;
        name.parse::<mesh_model::key::Entry>()?;
        Ok(Self { module: module.parse()?, name: name.to_owned() })
    }
}

/// How a rotation ended that did not come to its end.
#[derive(Debug, Error)]
enum RotateError {
    #[error("{name} could not be rotated everywhere: at {at}, {why}")]
    Stopped { name: String, at: String, why: String },
    #[error("the rotation of {name} was given up")]
    GivenUp { name: String },
    #[error("the rotation of {name} is not over after {seconds} seconds")]
    RanOut { name: String, seconds: u64 },
    #[error("the vault knows nothing of the rotation any more")]
    Gone,
    #[error("no id could be made")]
    Random(#[from] mesh_seal::NoRandomness),
}

pub(super) async fn run(args: RotateArgs, screen: &Screen) -> Result<Exit, Failure> {
    let bus = args.bus.connect(Path::new("")).await?;
    let end = args.timeout.map(|seconds| (Instant::now() + Duration::from_secs(seconds), seconds));
    let begun = begin(&bus, &args).await?;
    let told = match args.no_wait {
        true => begun,
        false => follow(&bus, begun, end, screen).await?,
    };
    match args.format {
        Format::Json => screen.print_json(&told)?,
        Format::Text => lines(&told).iter().for_each(|line| screen.say(line)),
    }
    ended(&told, &args)
}

/// Asks for it. An answer that was lost is asked for again: the vault knows the question by its id.
async fn begin(bus: &Bus, args: &RotateArgs) -> Result<RotationTold, Failure> {
    let order = match (args.resume, args.abandon) {
        (true, _) => RotateOrder::Resume,
        (_, true) => RotateOrder::Abandon,
        _ => RotateOrder::Start {
            id: mesh_seal::random_id(&mut SystemRandom)
                .map_err(|error| Failure::new(RotateError::from(error)))?,
            node: args.node.clone(),
            at_once: args.at_once,
            patience: args.patience,
            deadline: args.deadline,
        },
    };
    let Rotated { module, name } = args.secret.clone();
    let answer: RotateAnswer = ask(bus, "mesh-vault.rotate", &RotateAsk { module, name, order }).await?;
    Ok(answer.rotation)
}

/// Looks until it is over or has stopped, and shows how far it is.
async fn follow(
    bus: &Bus,
    begun: RotationTold,
    end: Option<(Instant, u64)>,
    screen: &Screen,
) -> Result<RotationTold, Failure> {
    let mut progress = Progress::new(*screen);
    let mut told = begun;
    while !is_over(&told) && told.state != RotationState::Stopped {
        progress.show(lines(&told));
        if let Some((_, seconds)) = end.filter(|(end, _)| Instant::now() >= *end) {
            let error = RotateError::RanOut { name: name(&told), seconds };
            return Err(Failure::new(error)
                .exit(Exit::RanOut)
                .hint("it goes on: `mesh secret list` says how far it is"));
        }
        sleep(PAUSE).await;
        match rotations(bus).await {
            Ok(all) => {
                let now = all.into_iter().find(|one| one.id == told.id);
                told = now.ok_or_else(|| Failure::new(RotateError::Gone))?;
            }
            // A vault that is away for a moment goes on where it was.
            Err(AskError::Unreachable { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(told)
}

fn ended(told: &RotationTold, args: &RotateArgs) -> Result<Exit, Failure> {
    let name = name(told);
    match told.state {
        RotationState::Stopped if !args.no_wait => {
            let at = told.at.as_ref().map(|node| format!("{}@{node}", told.module)).unwrap_or_default();
            let why = told.why.clone().unwrap_or_default();
            let hint = format!(
                "the old credential is good as before; `mesh secret rotate {name} --resume` goes on, `--abandon` gives it up"
            );
            Err(Failure::new(RotateError::Stopped { name, at, why }).hint(hint))
        }
        RotationState::Abandoned if !args.abandon => Err(Failure::new(RotateError::GivenUp { name })),
        _ => Ok(Exit::Done),
    }
}

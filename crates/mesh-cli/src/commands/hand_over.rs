//! Hands a description over to the controller: its files, then the listing of them, and says what came of it.

use std::time::Duration;

use mesh_bus::Bus;
use mesh_bus::verb::{AskError, ask, ask_within};
use mesh_cli::refusals::Weight;
use mesh_model::digest::Digest;
use mesh_model::wire::{ApplyAnswer, ApplyAsk, Effect, StatusAnswer};
use tokio::time::{Instant, sleep};

use crate::exit::Failure;
use crate::planning::{Read, refused};
use crate::screen::Screen;
use crate::upload::upload;

/// How long the controller may take to plan.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a controller that is starting is waited for.
const START: Duration = Duration::from_secs(20);
/// Between two questions whether it is there.
const PAUSE: Duration = Duration::from_millis(20);

/// Lets a description take effect after whatever is in effect, once the controller answers.
pub(crate) async fn apply(bus: &Bus, read: &Read, screen: &Screen) -> Result<ApplyAnswer, Failure> {
    let follows = answering(bus).await?.plan.map(|plan| plan.id);
    let answer = hand_over(bus, read, follows, screen).await?;
    taken(&answer, read, screen)?;
    Ok(answer)
}

async fn answering(bus: &Bus) -> Result<StatusAnswer, AskError> {
    let end = Instant::now() + START;
    loop {
        match ask(bus, "mesh-controller.status", &serde_json::json!({})).await {
            Err(AskError::Unreachable { .. }) if Instant::now() < end => sleep(PAUSE).await,
            answered => return answered,
        }
    }
}

/// Hands over what is missing, and asks for it to take effect after the plan that was seen.
pub(crate) async fn hand_over(
    bus: &Bus,
    read: &Read,
    follows: Option<Digest>,
    screen: &Screen,
) -> Result<ApplyAnswer, Failure> {
    let description = upload(bus, read, screen).await?;
    let question = ApplyAsk { description, follows };
    Ok(ask_within(bus, PATIENCE, "mesh-controller.apply", &question).await?)
}

/// Says what came of it. The controller plans itself, and may know better what the machines hold.
pub(crate) fn taken(answer: &ApplyAnswer, read: &Read, screen: &Screen) -> Result<(), Failure> {
    match (answer.effect, &answer.plan) {
        (Effect::Refused | Effect::Planned, _) => {
            read.say(&answer.refusals, Weight::Refused, screen);
            return Err(refused(answer.refusals.len()));
        }
        (Effect::Unchanged, _) => screen.say("nothing has changed"),
        (Effect::Applied, Some(plan)) => screen.say(format!("plan {} is in effect", plan.short())),
        (Effect::Applied, None) => screen.say("it is in effect"),
    }
    Ok(())
}

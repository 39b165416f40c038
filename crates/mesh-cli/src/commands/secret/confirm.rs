//! `mesh secret confirm-escrow`: says, on the server's machine, that a recipient of escrow is meant.
//!
//! It signs in with the keys of the server's state folder, as nobody else can. An operator who may apply may name a recipient,
//! and must not be able to have secrets sealed to themselves in passing.

use std::path::{Path, PathBuf};

use clap::Args;
use mesh_bus::grants::{CONFIRM_ESCROW, SERVER};
use mesh_bus::verb::ask;
use mesh_bus::{Account, Authority, Bus, FirstTry};
use mesh_model::wire::{ConfirmEscrowAnswer, ConfirmEscrowAsk, EscrowState};
use mesh_seal::Recipient;
use thiserror::Error;
use time::OffsetDateTime;

use crate::exit::{Exit, Failure};
use crate::reach::{BusArgs, ReachError};
use crate::screen::Screen;

/// Which recipient, of which mesh.
#[derive(Debug, Args)]
pub(super) struct ConfirmArgs {
    /// The public key, as it stands in `escrow` of mesh.yaml
    #[arg(value_name = "RECIPIENT")]
    recipient: Recipient,
    /// The state folder of the server, or of `mesh up`
    #[arg(long, value_name = "FOLDER", default_value = ".mesh")]
    state: PathBuf,
}

/// Why it was not confirmed.
#[derive(Debug, Error)]
enum ConfirmError {
    #[error("{} does not hold the server's keys: this is not the server's machine, or not its folder", state.display())]
    NotHere { state: PathBuf },
}

pub(super) async fn run(args: ConfirmArgs, screen: &Screen) -> Result<Exit, Failure> {
    let ConfirmArgs { recipient, state } = args;
    let bus = at_the_server(&state).await?;
    let question = ConfirmEscrowAsk { recipient: recipient.clone() };
    let answer: ConfirmEscrowAnswer = ask(&bus, CONFIRM_ESCROW, &question).await?;
    screen.say(match answer.state {
        EscrowState::Sealed | EscrowState::Waiting => {
            format!("{recipient} is confirmed: whatever is made from now on is sealed to it too")
        }
        EscrowState::Ahead => {
            format!("{recipient} is confirmed, and counts once a plan names it in `escrow`")
        }
    });
    if !answer.unreadable.is_empty() {
        screen.warn(format!(
            "it cannot open what was made before: {}. `mesh plan` says what makes each anew",
            answer.unreadable.join(", ")
        ));
    }
    Ok(Exit::Done)
}

/// Signs in with the keys of a state folder.
async fn at_the_server(state: &Path) -> Result<Bus, Failure> {
    let keys = state.join("keys");
    // Looked for first: opening the keys makes those that are missing.
    if !keys.join("operator.nk").exists() {
        return Err(Failure::new(ConfirmError::NotHere { state: state.to_owned() }).hint(
            "run it on the server's machine, with `--state FOLDER` where its state is kept elsewhere",
        ));
    }
    let address = BusArgs::of_state(state).address(Path::new(""))?;
    let authority = Authority::open(&keys, OffsetDateTime::now_utc).map_err(Failure::new)?;
    let account = Account::Seat(SERVER.parse().expect("it is a name"));
    let creds = authority.creds(&account);
    let connected = Bus::connect(&address, &creds, FirstTry::Fails).await;
    connected.map_err(|source| ReachError::Gone { state: state.to_owned(), source }.into())
}

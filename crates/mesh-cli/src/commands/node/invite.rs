//! `mesh node invite NODE`: a one-time token, made by an operator for a machine that is to join.

use std::path::Path;

use clap::Args;
use mesh_bus::tls::Fingerprint;
use mesh_bus::verb::ask;
use mesh_bus::{Invitation, UserKey};
use mesh_model::name::NodeName;
use mesh_model::wire::{InviteAnswer, InviteAsk, Invitee};
use mesh_seal::KeyId;
use serde_json::json;

use crate::arguments::Format;
use crate::exit::{Exit, Failure};
use crate::reach::BusArgs;
use crate::screen::Screen;

#[derive(Debug, Clone, Args)]
pub(super) struct InviteArgs {
    /// The node that the machine is to be
    #[arg(value_name = "NODE")]
    node: NodeName,
    /// How the token is printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: InviteArgs, screen: &Screen) -> Result<Exit, Failure> {
    let bus = args.bus.connect(Path::new(".")).await?;
    let (invitee, key) = (Invitee::Node(args.node.clone()), UserKey::new());
    let question = InviteAsk { invitee: invitee.clone(), user: key.public() };
    let answer: InviteAnswer<Fingerprint, KeyId> = ask(&bus, "mesh-controller.invite", &question).await?;
    let (joined, until, node) = (answer.joined, answer.until, &args.node);
    let token = Invitation::new(invitee, answer, key).to_text();
    if joined {
        screen.warn(format!(
            "{node} has joined already: this token lets it in again with the key that it has, and no other machine"
        ));
    }
    match args.format {
        Format::Text => {
            screen.say(format!("on {node}, until {until}, once:"));
            screen.print(format!("mesh node join {}\n", *token))?;
        }
        Format::Json => screen.print_json(&json!({
            "node": node, "token": *token, "until": until, "joined": joined,
        }))?,
    }
    Ok(Exit::Done)
}

//! `mesh secret set`: reads a value, seals it to each node's key, and hands over what is sealed.
//!
//! The value is never an argument, and never leaves this process unsealed.

use std::path::Path;

use clap::Args;
use mesh_bus::Bus;
use mesh_bus::verb::ask;
use mesh_model::name::{ModuleName, NameError, NodeName, SecretName};
use mesh_model::wire::{PutAnswer, PutAsk, RecipientsAnswer, RecipientsAsk};
use mesh_seal::{Ciphertext, Fields, FieldsError, Recipient, SealError, Secret, seal};
use thiserror::Error;

use super::prompt;
use crate::exit::{Exit, Failure};
use crate::reach::BusArgs;
use crate::screen::Screen;

/// Which secret, and where.
#[derive(Debug, Args)]
pub(super) struct SetArgs {
    /// The module and its secret: notes.smtp
    #[arg(value_name = "MODULE.SECRET")]
    secret: Own,
    /// On this node alone; left out, the same value on each node that the module runs on
    #[arg(long)]
    node: Option<NodeName>,
    #[command(flatten)]
    bus: BusArgs,
}

/// A secret of a module's own.
#[derive(Debug, Clone)]
struct Own {
    module: ModuleName,
    name: SecretName,
}

/// A text that names no secret.
#[derive(Debug, Error)]
enum NotOwn {
    #[error("it is written MODULE.SECRET, as in `notes.smtp`")]
    Parts,
    #[error(transparent)]
    Name(#[from] NameError),
}

impl std::str::FromStr for Own {
    type Err = NotOwn;

    fn from_str(text: &str) -> Result<Self, NotOwn> {
        let (module, name) = text.split_once('.').ok_or(NotOwn::Parts)?;
        Ok(Self { module: module.parse()?, name: name.parse()? })
    }
}

/// Why nothing was set, or not everywhere.
#[derive(Debug, Error)]
enum SetError {
    #[error("the value is empty")]
    Empty,
    #[error("the value is not text in UTF-8 without NUL")]
    NotText(#[source] Option<FieldsError>),
    #[error("cannot seal the value for node {node}")]
    Seal { node: NodeName, source: SealError },
    #[error("it is not set on {nodes}: there is no key yet to seal it to")]
    WithoutKey { nodes: String },
}

pub(super) async fn run(args: SetArgs, screen: &Screen) -> Result<Exit, Failure> {
    let SetArgs { secret: Own { module, name }, node, bus } = args;
    let bus = bus.connect(Path::new("")).await?;
    // Before anybody types: whether it may be set at all.
    let question = RecipientsAsk { module: module.clone(), name: name.clone(), node };
    let answer: RecipientsAnswer<Recipient> = ask(&bus, "mesh-vault.recipients", &question).await?;
    let plain = encoded(prompt::read(screen, &format!("{module}.{name}")).await?)?;
    for (node, recipient) in answer.recipients {
        let put = put(&bus, &module, &name, &node, recipient, &plain).await?;
        screen.say(format!("{module}.{name} is set on {node}: version {}", put.version));
    }
    match answer.without_key.is_empty() {
        true => Ok(Exit::Done),
        false => {
            let nodes: Vec<&str> = answer.without_key.iter().map(NodeName::as_str).collect();
            Err(Failure::new(SetError::WithoutKey { nodes: nodes.join(", ") })
                .hint("set it again once they have joined"))
        }
    }
}

async fn put(
    bus: &Bus,
    module: &ModuleName,
    name: &SecretName,
    node: &NodeName,
    recipient: Recipient,
    plain: &Secret,
) -> Result<PutAnswer, Failure> {
    let sealed = seal(&recipient, plain.expose());
    let ciphertext: Ciphertext =
        sealed.map_err(|source| Failure::new(SetError::Seal { node: node.clone(), source }))?;
    let (node, module, name) = (node.clone(), module.clone(), name.clone());
    Ok(ask(bus, "mesh-vault.put", &PutAsk { node, module, name, recipient, ciphertext }).await?)
}

fn encoded(value: Secret) -> Result<Secret, Failure> {
    if value.is_empty() {
        return Err(Failure::new(SetError::Empty).hint("type it, or pass it on standard input"));
    }
    if value.expose().contains(&0) {
        return Err(Failure::new(SetError::NotText(None)));
    }
    Fields::own(value).encode().map_err(|error| Failure::new(SetError::NotText(Some(error))))
}

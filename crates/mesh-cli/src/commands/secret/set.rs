//! `mesh secret set`: reads a value, seals it to each node's key, and hands over what is sealed.
//!
//! The value is never an argument, and never leaves this process unsealed. Whose keys these are, the vault says: `docs/secrets.md`
//! tells what somebody could do who runs the control plane.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use mesh_bus::verb::ask;
use mesh_model::key::Entry;
use mesh_model::name::{MeshName, ModuleName, NameError, NodeName, SecretName};
use mesh_model::wire::{EscrowLabel, PutAnswer, PutAsk, RecipientsAnswer, RecipientsAsk, V1, VaultOrigin};
use mesh_seal::{
    Ciphertext, Fields, FieldsError, NoRandomness, Recipient, SealError, Secret, SystemRandom, random_id,
    seal,
};
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
    #[error("cannot seal the value to an escrow recipient")]
    Escrow(#[source] SealError),
    #[error("cannot make an id")]
    Id(#[from] NoRandomness),
    #[error("it is not set on {nodes}: there is no key yet to seal it to")]
    WithoutKey { nodes: String },
}

pub(super) async fn run(args: SetArgs, screen: &Screen) -> Result<Exit, Failure> {
    let SetArgs { secret: Own { module, name }, node, bus } = args;
    let bus = bus.connect(Path::new("")).await?;
    // Before anybody types: whether it may be set at all.
    let question = RecipientsAsk { module: module.clone(), name: name.clone(), node };
    let answer: RecipientsAnswer<Recipient> = ask(&bus, "mesh-vault.recipients", &question).await?;
    let fields = fields(prompt::read(screen, &format!("{module}.{name}")).await?)?;
    let sealing = Sealing { mesh: answer.mesh, module, name, escrow: answer.escrow, fields };
    for (node, recipient) in answer.recipients {
        let put: PutAnswer = ask(&bus, "mesh-vault.put", &sealing.to(&node, recipient)?).await?;
        let Sealing { module, name, .. } = &sealing;
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

/// A value, and what it is.
struct Sealing {
    mesh: MeshName,
    module: ModuleName,
    name: SecretName,
    escrow: Vec<Recipient>,
    fields: Fields,
}

impl Sealing {
    /// Seals it to a node, and to the escrow recipients with a label on the inside.
    fn to(&self, node: &NodeName, recipient: Recipient) -> Result<PutAsk<Recipient, Ciphertext>, Failure> {
        let plain = self.fields.encode().map_err(not_text)?;
        let sealed = seal(&recipient, plain.expose());
        let ciphertext =
            sealed.map_err(|source| Failure::new(SetError::Seal { node: node.clone(), source }))?;
        let id = random_id(&mut SystemRandom).map_err(|error| Failure::new(SetError::Id(error)))?;
        let escrow = self.copies(node, &id)?;
        let (node, module, name) = (node.clone(), self.module.clone(), self.name.clone());
        Ok(PutAsk { node, module, name, recipient, ciphertext, id: Some(id), escrow })
    }

    fn copies(&self, node: &NodeName, id: &str) -> Result<BTreeMap<Recipient, Ciphertext>, Failure> {
        let label = EscrowLabel {
            v: V1,
            mesh: self.mesh.clone(),
            node: node.clone(),
            module: self.module.clone(),
            name: Entry::Own(self.name.clone()).to_string(),
            id: id.to_owned(),
            version: None,
            origin: VaultOrigin::Supplied,
            provider: None,
            provision: None,
        };
        let plain = self.fields.encode_labelled(&label).map_err(not_text)?;
        let copy = |to: &Recipient| Ok((to.clone(), seal(to, plain.expose())?));
        let copies: Result<_, SealError> = self.escrow.iter().map(copy).collect();
        copies.map_err(|error| Failure::new(SetError::Escrow(error)))
    }
}

/// What a value must be.
fn fields(value: Secret) -> Result<Fields, Failure> {
    if value.is_empty() {
        return Err(Failure::new(SetError::Empty).hint("type it, or pass it on standard input"));
    }
    if value.expose().contains(&0) || value.expose_text().is_none() {
        return Err(Failure::new(SetError::NotText(None)));
    }
    Ok(Fields::own(value))
}

fn not_text(error: FieldsError) -> Failure {
    Failure::new(SetError::NotText(Some(error)))
}

//! `mesh secret reveal`: what a secret says, on the node that it is sealed to.
//!
//! It asks the vault as the node, under the node's account, and opens with the node's own key. The value stands alone on
//! standard output: this is the one place of this program where a secret is printed.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use mesh_bus::verb::ask;
use mesh_bus::{Bus, FirstTry};
use mesh_model::key::{CredentialKey, Entry};
use mesh_model::name::{FieldName, LocalName, ModuleName, NameError, NodeName, SecretName};
use mesh_model::wire::{Delivered, SecretAnswer, SecretAsk};
use mesh_node::identity::{self, Identity, Joined};
use mesh_seal::{Expect, Fields, FieldsError, OpenError, Sealed, SealingKey, Secret};
use thiserror::Error;

use crate::exit::{Exit, Failure};
use crate::reach::{BusArgs, ReachError};
use crate::screen::Screen;

/// Which secret, and on which node.
#[derive(Debug, Args)]
pub(super) struct RevealArgs {
    /// A module's own secret (notes.session), or a field of a need's credential (notes.db.password)
    #[arg(value_name = "MODULE.SECRET")]
    secret: Named,
    /// The node that this is
    #[arg(long)]
    node: NodeName,
    #[command(flatten)]
    bus: BusArgs,
}

/// Something secret of a module.
#[derive(Debug, Clone)]
struct Named {
    module: ModuleName,
    entry: Entry,
    field: String,
}

/// A text that names no secret.
#[derive(Debug, Error)]
enum NotNamed {
    #[error(
        "it is written MODULE.SECRET or MODULE.NEED.FIELD, as in `notes.session` and `notes.db.password`"
    )]
    Parts,
    #[error(transparent)]
    Name(#[from] NameError),
}

impl std::str::FromStr for Named {
    type Err = NotNamed;

    fn from_str(text: &str) -> Result<Self, NotNamed> {
        let parts: Vec<&str> = text.split('.').collect();
        let (module, entry, field) = match parts[..] {
            [module, name] => (module, Entry::Own(name.parse::<SecretName>()?), Fields::OWN.to_owned()),
            [module, local, field] => {
                let field: FieldName = field.parse()?;
                (module, Entry::Need(local.parse::<LocalName>()?), field.to_string())
            }
            _ => return Err(NotNamed::Parts),
        };
        Ok(Self { module: module.parse()?, entry, field })
    }
}

/// Why nothing was revealed.
#[derive(Debug, Error)]
enum RevealError {
    #[error("this machine is not the node {node}: there is no identity in {}", folder.display())]
    NotHere { node: NodeName, folder: PathBuf },
    #[error("cannot read the identity of the node {node}")]
    Identity { node: NodeName, source: identity::Error },
    #[error("there is nothing to reveal: {why}")]
    Nothing { why: String },
    #[error("what the vault delivered as {key} is refused")]
    NotOpened { key: CredentialKey, source: OpenError },
    #[error("what the vault delivered as {key} cannot be read")]
    NotFields { key: CredentialKey, source: FieldsError },
    #[error("{key} has no field `{field}`, but {known}")]
    NoField { key: CredentialKey, field: String, known: String },
}

pub(super) async fn run(args: RevealArgs, screen: &Screen) -> Result<Exit, Failure> {
    let RevealArgs { secret, node, bus } = args;
    let (key, joined) = identity_of(&bus.state(Path::new("")), &node)?;
    let at = bus.address(Path::new(""))?;
    let connected = Bus::connect(&at, &joined.creds, FirstTry::Fails).await;
    let bus = connected.map_err(|source| ReachError::Elsewhere { at, source })?;
    let named = CredentialKey { node: node.clone(), module: secret.module.clone(), entry: secret.entry };
    let question = SecretAsk { module: secret.module, name: named.entry.to_string() };
    let answer: SecretAnswer<Sealed> = ask(&bus, &format!("mesh-vault.secret.{node}"), &question).await?;
    let why = answer.why.unwrap_or_else(|| "it was not made".to_owned());
    let newest = answer.credentials.last();
    let newest = newest.ok_or_else(|| Failure::new(RevealError::Nothing { why }))?;
    let fields = opened(newest, &key, &joined, &named)?;
    let value = field(&fields, &secret.field, &named)?;
    screen.print_bytes(value.expose())?;
    if io::stdout().is_terminal() {
        screen.print("\n")?;
    }
    Ok(Exit::Done)
}

fn identity_of(state: &Path, node: &NodeName) -> Result<(SealingKey, Joined), Failure> {
    let folder = identity::state_of(state, node);
    let not_here = || {
        Failure::new(RevealError::NotHere { node: node.clone(), folder: folder.clone() })
            .hint(format!("run it on {node} itself, with `--state` where its state is kept elsewhere"))
    };
    // Looked for first: opening an identity makes the keys that are missing.
    if !folder.join("identity").join("mesh").exists() {
        return Err(not_here());
    }
    let identity = Identity::open(&folder);
    let identity =
        identity.map_err(|source| Failure::new(RevealError::Identity { node: node.clone(), source }))?;
    Ok((identity.sealing, identity.joined.ok_or_else(not_here)?))
}

fn opened(
    delivered: &Delivered<Sealed>,
    key: &SealingKey,
    joined: &Joined,
    named: &CredentialKey,
) -> Result<Fields, Failure> {
    let owner = format!("{}.{}", named.node, named.module);
    let name = named.entry.to_string();
    let (mesh, node) = (joined.mesh.as_str(), named.node.as_str());
    let expect = Expect { mesh, node, owner: &owner, name: &name, at_least_version: 0 };
    let plain = delivered.sealed.open(key, &joined.signer, &expect);
    let plain =
        plain.map_err(|source| Failure::new(RevealError::NotOpened { key: named.clone(), source }))?;
    Fields::decode(&plain)
        .map_err(|source| Failure::new(RevealError::NotFields { key: named.clone(), source }))
}

fn field<'a>(fields: &'a Fields, field: &str, named: &CredentialKey) -> Result<&'a Secret, Failure> {
    fields.get(field).ok_or_else(|| {
        let known: Vec<String> = fields.iter().map(|(name, _)| format!("`{name}`")).collect();
        Failure::new(RevealError::NoField {
            key: named.clone(),
            field: field.to_owned(),
            known: known.join(", "),
        })
    })
}

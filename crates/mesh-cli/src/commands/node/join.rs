//! `mesh node join TOKEN`: this machine becomes a node of the mesh that the token is for.
//!
//! Its keys are made first and kept, so that whenever this is cut off, the same command goes on. Where the machine has joined
//! and the bus lets it in, nothing changes.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use mesh_bus::client::ConnectError;
use mesh_bus::invitation::{AcceptError, InvitationError};
use mesh_bus::tls::LookError;
use mesh_bus::{Account, Address, Bus, Creds, FirstTry, Invitation};
use mesh_model::name::{MeshName, NodeName};
use mesh_model::wire::Invitee;
use mesh_node::identity::{Identity, Joined, Joining};
use thiserror::Error;
use zeroize::Zeroizing;

use super::STATE;
use crate::exit::{Exit, Failure};
use crate::process::{Folder, state_fault};
use crate::screen::Screen;

#[derive(Debug, Clone, Args)]
pub(super) struct JoinArgs {
    /// The token that `mesh node invite` gave, or `-` to read it from standard input
    #[arg(value_name = "TOKEN")]
    token: String,
    /// Where the node is to keep everything
    #[arg(long, value_name = "FOLDER", default_value = STATE)]
    state: PathBuf,
}

/// Why this machine did not join.
#[derive(Debug, Error)]
enum JoinError {
    #[error("the token is for the operator {0}, not for a machine")]
    NotANode(String),
    #[error("this machine is the node {is} of {mesh}, and the token is for {token}")]
    OtherNode { mesh: MeshName, is: NodeName, token: NodeName },
    #[error("this machine is the node {is} of {mesh}, and the token is for the mesh {token}")]
    OtherMesh { is: String, mesh: MeshName, token: MeshName },
    #[error("this machine has joined as {node}, and cannot see whether it still may: the bus is not there")]
    Unsure { node: NodeName, source: ConnectError },
    #[error("cannot read the token from standard input")]
    Read(#[source] std::io::Error),
}

pub(super) async fn run(args: JoinArgs, screen: &Screen) -> Result<Exit, Failure> {
    let invitation = invitation(&args.token)?;
    let Invitee::Node(node) = invitation.invitee.clone() else {
        let name = Account::of(&invitation.invitee).to_string();
        let name = name.trim_start_matches("operator=").to_owned();
        return Err(Failure::new(JoinError::NotANode(name)).hint("`mesh operator join` takes it"));
    };
    let folder = Folder::make(&args.state)?;
    let _held = folder.take_to("join.lock")?;
    let state = folder.path();
    if let Some(joined) = Identity::joined(state).map_err(state_fault)?
        && is_good(state, &joined, &node, &invitation, screen).await?
    {
        return Ok(Exit::Done);
    }
    let joining = Joining::begin(state).map_err(state_fault)?;
    let facts = Some(mesh_node::facts(state));
    let answer = invitation.accept(&joining.user().public(), facts, &joining.ca()).await;
    let answer = answer.map_err(not_joined)?;
    let creds = Creds::new(Account::Node(node.clone()), answer.token, joining.user().clone());
    let at = Address { urls: answer.urls, ca: Some(joining.ca()) };
    let joined = Joined { mesh: answer.mesh, signer: answer.signer, creds, at: Some(at) };
    joining.finish(&joined).map_err(state_fault)?;
    screen.say(format!("this machine is {node} of {} now; `mesh node` runs it", joined.mesh));
    Ok(Exit::Done)
}

fn invitation(token: &str) -> Result<Invitation, Failure> {
    let mut text = Zeroizing::new(token.to_owned());
    if token == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text).map_err(|error| Failure::new(JoinError::Read(error)))?;
    }
    Invitation::from_text(&text).map_err(|error| {
        let hint = match error {
            InvitationError::Other => "`mesh node invite NODE`, on the server, gives one",
            InvitationError::NotWhole => "copy it again, all of it: it is one line",
            InvitationError::Forged { .. } => "do not use it, and ask who gave it to you",
        };
        Failure::new(error).hint(hint)
    })
}

/// Whether the machine has a good identity already; another than the token's is refused.
async fn is_good(
    state: &Path,
    joined: &Joined,
    node: &NodeName,
    invitation: &Invitation,
    screen: &Screen,
) -> Result<bool, Failure> {
    let own = joined.creds.account();
    if joined.mesh != invitation.mesh {
        let (mesh, token) = (joined.mesh.clone(), invitation.mesh.clone());
        return Err(Failure::new(JoinError::OtherMesh { is: own.to_string(), mesh, token })
            .hint("a machine in two meshes has a --state FOLDER for each"));
    }
    if let Account::Node(is) = own
        && is != node
    {
        let (mesh, is, token) = (joined.mesh.clone(), is.clone(), node.clone());
        return Err(Failure::new(JoinError::OtherNode { mesh, is, token })
            .hint("ask for a token for this node, or name another --state FOLDER"));
    }
    let at = joined.at.clone().unwrap_or(Address { urls: Vec::new(), ca: None });
    let by_token = Address { urls: invitation.urls.clone(), ca: at.ca.clone() };
    let unsure = match Bus::connect(&at, &joined.creds, FirstTry::Fails).await {
        Ok(_) => {
            screen.say(format!("this machine is {node} of {} already; nothing has changed", joined.mesh));
            return Ok(true);
        }
        Err(error) if error.is_refused() => return Ok(false),
        Err(error) => error,
    };
    // The server may have moved: who it is, its certificate says.
    match Bus::connect(&by_token, &joined.creds, FirstTry::Fails).await {
        Ok(_) => {
            Identity::note_urls(state, &invitation.urls).map_err(state_fault)?;
            screen.say(format!(
                "this machine is {node} of {} already; the bus is at {by_token} now",
                joined.mesh
            ));
            Ok(true)
        }
        Err(error) if error.is_refused() => Ok(false),
        Err(_) => Err(Failure::new(JoinError::Unsure { node: node.clone(), source: unsure })
            .exit(Exit::Unreachable)
            .hint("join again when the server can be reached; what this machine runs goes on")),
    }
}

fn not_joined(error: AcceptError) -> Failure {
    match error {
        AcceptError::Ask(error) => error.into(),
        AcceptError::Look(LookError::Unreachable { .. }) | AcceptError::Connect(_) => Failure::new(error)
            .exit(Exit::Unreachable)
            .hint("look whether the server runs, and whether this machine reaches it; then try again"),
        AcceptError::Keep(error) => state_fault(error),
        error @ (AcceptError::Look(_) | AcceptError::Unknown { .. } | AcceptError::Signer { .. }) => {
            Failure::new(error).hint("ask for another token, and see that it is the server's own")
        }
    }
}

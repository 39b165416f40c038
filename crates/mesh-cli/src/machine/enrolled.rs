//! The nodes of a description that are this machine, let in by the control plane of this process.

use std::path::Path;

use mesh_bus::account::Account;
use mesh_bus::{Bus, Creds, FirstTry, UserKey};
use mesh_model::name::{MeshName, NodeName};
use mesh_node::identity::{Identity, Joined, state_of};

use super::Machine;
use crate::exit::Failure;
use crate::plane::Plane;
use crate::process::{PUT_BACK, Tasks, state_fault};

/// The state folder is not what it was.
#[derive(Debug, thiserror::Error)]
enum Moved {
    #[error("node {node} of this state folder has joined the mesh `{was}`, and the description is of `{is}`")]
    Mesh { node: NodeName, was: MeshName, is: MeshName },
    #[error("the vault's signing key is not the one that node {node} learnt when it joined")]
    Signer { node: NodeName },
}

/// What all nodes of this process share.
pub(crate) struct Nodes<'a> {
    /// The mesh.
    pub(crate) mesh: &'a MeshName,
    /// The state folder of the mesh.
    pub(crate) state: &'a Path,
    /// What they are run with.
    pub(crate) machine: Machine,
}

impl Nodes<'_> {
    /// Lets a node in, and runs it.
    pub(crate) async fn start(&self, node: &NodeName, plane: &Plane, tasks: &Tasks) -> Result<(), Failure> {
        let state = state_of(self.state, node);
        let mut identity = Identity::open(&state).map_err(state_fault)?;
        if let Some(joined) = &identity.joined {
            self.is_still(node, joined, plane)?;
        }
        let joined = self.join(node, &identity, plane).await?;
        identity.join(&state, joined.clone()).map_err(state_fault)?;
        // Here, and not only from the node itself, so that they are known before anything is placed.
        plane.roster.note_facts(node, mesh_node::facts(&state)).await.map_err(Failure::new)?;
        let bus = Bus::connect(plane.address(), &joined.creds, FirstTry::Fails).await;
        let bus = bus.map_err(Failure::new)?;
        let config = self.machine.config(node, &state, identity, joined, bus);
        tasks.start(format!("node {node}"), |stop| mesh_node::service::run(config, stop));
        Ok(())
    }

    /// What a node learnt when it joined does not change: what was sealed for it could not be opened.
    fn is_still(&self, node: &NodeName, joined: &Joined, plane: &Plane) -> Result<(), Failure> {
        if joined.mesh != *self.mesh {
            let (was, is) = (joined.mesh.clone(), self.mesh.clone());
            return Err(Failure::new(Moved::Mesh { node: node.clone(), was, is })
                .hint("give the mesh its name back, or begin with an empty --state"));
        }
        if joined.signer != plane.signer {
            return Err(Failure::new(Moved::Signer { node: node.clone() }).hint(PUT_BACK));
        }
        Ok(())
    }

    /// What the node learns when it joins. Joining again with the key that it has changes nothing.
    async fn join(&self, node: &NodeName, identity: &Identity, plane: &Plane) -> Result<Joined, Failure> {
        let user = match &identity.joined {
            Some(joined) => joined.creds.key().clone(),
            None => UserKey::new(),
        };
        let token = plane.roster.admit_node(node, &user.public()).await.map_err(|error| {
            Failure::new(error).hint(format!(
                "the state folder of {node} is not the one that joined: put it back, or begin with an empty --state"
            ))
        })?;
        let creds = Creds::new(Account::Node(node.clone()), token, user);
        Ok(Joined { mesh: self.mesh.clone(), signer: plane.signer.clone(), creds, at: None })
    }
}

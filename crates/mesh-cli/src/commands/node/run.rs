//! `mesh node`: runs this machine as the node that it joined as.

use std::path::PathBuf;

use mesh_bus::{Account, Bus, FirstTry};
use mesh_node::identity::Identity;
use thiserror::Error;
use tokio::sync::mpsc;

use super::StateArgs;
use crate::exit::{Exit, Failure};
use crate::machine::Machine;
use crate::process::{Folder, Surroundings, Tasks, log_to_stderr, state_fault, told_to_stop};
use crate::screen::Screen;

#[derive(Debug, Error)]
enum NodeError {
    #[error("this machine has not joined a mesh: there is no identity in {}", state.display())]
    NotJoined { state: PathBuf },
}

pub(super) async fn run(args: &StateArgs, screen: &Screen, around: Surroundings) -> Result<Exit, Failure> {
    let folder = Folder::make(&args.state)?;
    let _held = folder.take()?;
    log_to_stderr(&around.log);
    let state = folder.path();
    let joined = Identity::joined(state).map_err(state_fault)?;
    let joined = joined.map(|joined| (joined.creds.account().clone(), joined.at.clone(), joined));
    let Some((Account::Node(node), Some(at), joined)) = joined else {
        return Err(Failure::new(NodeError::NotJoined { state: state.to_owned() }).hint(
            "`mesh node invite NODE`, on the server, gives a token; `mesh node join TOKEN`, here, takes it",
        ));
    };
    let identity = Identity::open(state).map_err(state_fault)?;
    let bus = Bus::connect(&at, &joined.creds, FirstTry::IsRepeated).await.map_err(Failure::new)?;
    screen.say(format!("this machine is {node} of {}; the bus is at {at}", joined.mesh));
    let machine = Machine { program: around.program.clone(), time_zone: around.time_zone.clone() };
    let config = machine.config(&node, state, identity, joined, bus);
    let (tell, mut ended) = mpsc::unbounded_channel();
    let tasks = Tasks::new(tell);
    tasks.start(format!("node {node}"), |stop| mesh_node::service::run(config, stop));
    let outcome = tokio::select! {
        Some(ended) = ended.recv() => Err(ended.into()),
        signal = told_to_stop() => signal,
    };
    tasks.stop().await;
    outcome
}

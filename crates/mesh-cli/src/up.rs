//! `mesh up`: everything on this machine in one process, until Ctrl-C.
//!
//! The order is the whole of it: the description is read and refused before anything starts; then the bus, the seats, the
//! nodes that are this machine, and the description is handed over as any operator would. It stops in the other order.
//! What a part does is in its own crate; here is who starts it with what.

mod detach;
mod down;

use std::path::{Path, PathBuf};

use clap::Args;
use mesh_bus::{Bus, FirstTry};
use mesh_model::name::NodeName;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::commands::hand_over;
use crate::exit::{Exit, Failure};
use crate::machine::Machine;
use crate::machine::enrolled::Nodes;
use crate::plane::{self, Plane, PlaneConfig};
use crate::planning::Read;
use crate::process::{Ended, Folder, Surroundings, Tasks, local, told_to_stop};
use crate::screen::{Screen, Tone};
use crate::wait::{Waited, until_settled};

pub(crate) use down::{DownArgs, run as down};

/// Run everything on this machine
///
/// Starts a bus beside it, runs every node of the description whose address is this machine's (or that has none), and lets
/// the description take effect. Ctrl-C stops everything; the next start finds everything as it was.
#[derive(Debug, Clone, Args)]
pub(crate) struct UpArgs {
    /// The folder of the mesh description
    #[arg(default_value = ".", value_name = "DIR")]
    dir: PathBuf,
    /// Where everything is kept [default: DIR/.mesh]
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Come back once everything is applied, and leave it running; `mesh down` stops it
    #[arg(long)]
    detach: bool,
    /// With --detach: how long to wait for that, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, requires = "detach")]
    timeout: u64,
    /// The nats-server to run [default: what MESH_NATS_SERVER names, or the one on the PATH]
    #[arg(long, value_name = "FILE")]
    nats_server: Option<PathBuf>,
    /// The process that --detach leaves running.
    #[arg(long, hide = true)]
    detached: bool,
}

impl UpArgs {
    fn state(&self) -> PathBuf {
        self.state.clone().unwrap_or_else(|| self.dir.join(".mesh"))
    }
}

/// Brings everything up, and stays until it is told to stop.
pub(crate) async fn run(args: UpArgs, screen: Screen, around: Surroundings) -> Result<Exit, Failure> {
    if args.detach {
        return detach::run(&args, screen, &around.program).await;
    }
    if args.detached {
        detach::leave_the_terminal();
    }
    let begun = Instant::now();
    let description = Read::of(&args.dir, &screen)?;
    let folder = Folder::make(&args.state())?;
    folder.ignore_in_git()?;
    let _held = folder.take()?;
    folder.keep_log(&around.log)?;
    let (here, elsewhere) = split(&description);
    let node = here.first().ok_or_else(|| nobody_here(&elsewhere))?;
    let (tell, ended) = mpsc::unbounded_channel();
    let (seats, nodes) = (Tasks::new(tell.clone()), Tasks::new(tell));
    let mesh = description.mesh();
    let config = PlaneConfig {
        mesh,
        catalog: &description.catalog,
        node,
        folder: &folder,
        reach: plane::Reach::Loopback,
        parts: plane::Part::all(),
        nats_server: args.nats_server.clone().or_else(|| around.nats_server.clone()),
        around: &around,
    };
    let plane = Plane::start(config, &seats).await?;
    let machine = Machine { program: around.program.clone(), time_zone: around.time_zone.clone() };
    let shared = Nodes { mesh, state: folder.path(), machine };
    let up = Up { screen, description: &description, folder: &folder, plane: &plane, begun };
    let outcome = up.until_told(&here, &elsewhere, &shared, &nodes, ended).await;
    screen.say("stopping: services first, then the bus");
    nodes.stop().await;
    folder.retract();
    seats.stop().await;
    plane.stop().await;
    outcome
}

/// Those nodes of a description that are this machine, and those that are not.
fn split(description: &Read) -> (Vec<NodeName>, Vec<NodeName>) {
    let is_here = |address: &Option<String>| address.as_deref().is_none_or(local::is_here);
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        description.nodes().iter().partition(|(_, address)| is_here(address));
    let names =
        |nodes: Vec<(&NodeName, &Option<String>)>| nodes.into_iter().map(|(node, _)| node.clone()).collect();
    (names(here), names(elsewhere))
}

#[derive(Debug, thiserror::Error)]
#[error("none of the nodes has an address of this machine: {}", nodes.join(", "))]
struct NobodyHere {
    nodes: Vec<String>,
}

fn nobody_here(elsewhere: &[NodeName]) -> Failure {
    let nodes = elsewhere.iter().map(ToString::to_string).collect();
    Failure::new(NobodyHere { nodes })
        .hint("give one of them an address that this machine has, such as 127.0.0.1")
}

/// What is up.
struct Up<'a> {
    screen: Screen,
    description: &'a Read,
    folder: &'a Folder,
    plane: &'a Plane,
    begun: Instant,
}

impl Up<'_> {
    /// Runs the nodes, hands the description over, and waits to be told to stop, or for a part that ends.
    async fn until_told(
        &self,
        here: &[NodeName],
        elsewhere: &[NodeName],
        nodes: &Nodes<'_>,
        tasks: &Tasks,
        mut ended: mpsc::UnboundedReceiver<Ended>,
    ) -> Result<Exit, Failure> {
        let work = async {
            for node in here {
                nodes.start(node, self.plane, tasks).await?;
            }
            self.tell_who(here, elsewhere);
            self.hand_over().await?;
            std::future::pending::<Result<Exit, Failure>>().await
        };
        tokio::select! {
            outcome = work => outcome,
            Some(ended) = ended.recv() => Err(ended.into()),
            signal = told_to_stop() => signal,
        }
    }

    fn tell_who(&self, here: &[NodeName], elsewhere: &[NodeName]) {
        let list = |nodes: &[NodeName]| nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        self.screen.say(format!("{} runs here: {}", self.description.mesh(), list(here)));
        if !elsewhere.is_empty() {
            self.screen.say(format!("left alone, not being this machine: {}", list(elsewhere)));
        }
    }

    async fn hand_over(&self) -> Result<(), Failure> {
        let operator = &self.plane.operator;
        let bus =
            Bus::connect(self.plane.address(), operator, FirstTry::Fails).await.map_err(Failure::new)?;
        hand_over::apply(&bus, self.description, &self.screen).await?;
        self.folder.announce(self.plane.address(), operator)?;
        if let Waited::Settled(status) = until_settled(&bus, &self.screen, None).await? {
            let seconds = self.begun.elapsed().as_secs_f64();
            self.screen.print(status.table(&self.screen))?;
            let good = self.screen.on_err(Tone::Good, "everything is applied");
            self.screen.say(format!("{good} ({seconds:.1} s). Ctrl-C stops it."));
        }
        Ok(())
    }
}

/// The absolute form of a path, for a process that runs elsewhere.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

//! `mesh server`: the control plane for several machines, until it is told to stop.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use mesh_bus::verb::ask;
use mesh_bus::{Bus, FirstTry, address};
use mesh_model::name::{MeshName, NodeName};
use mesh_model::wire::{StatusAnswer, V1};
use serde::{Deserialize, Serialize};
use serde_json::json;
use thiserror::Error;
use tokio::sync::mpsc;

use crate::exit::{Exit, Failure};
use crate::plane::{Part, Plane, PlaneConfig, Reach};
use crate::process::{Folder, Surroundings, Tasks, local, log_to_stderr, state_fault, told_to_stop};
use crate::screen::Screen;

/// Where it keeps everything, where nothing else is said.
pub(crate) const STATE: &str = "/var/lib/mesh/server";
/// How often it is asked whether the controller answers.
const GLANCE: Duration = Duration::from_millis(50);

/// Run the control plane for several machines
///
/// Starts the bus and the seats. The first start says what the mesh is called and where other machines reach this one; it is
/// kept, and need not be said again.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServerArgs {
    /// Where everything is kept
    #[arg(long, value_name = "FOLDER", default_value = STATE)]
    state: PathBuf,
    /// What the mesh is called
    #[arg(long, value_name = "NAME")]
    mesh: Option<MeshName>,
    /// Where other machines reach this one: an address or a name, or several
    #[arg(long, value_name = "ADDRESS")]
    address: Vec<String>,
    /// The port of the bus [default: 7422]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Which node of the description this machine is [default: server]
    #[arg(long, value_name = "NODE")]
    node: Option<NodeName>,
    /// Run these parts alone
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    seats: Vec<Part>,
    /// The nats-server to run [default: what MESH_NATS_SERVER names, or the one on the PATH]
    #[arg(long, value_name = "FILE")]
    nats_server: Option<PathBuf>,
}

/// What was said at the first start, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ServerFile {
    v: V1,
    mesh: MeshName,
    node: NodeName,
    addresses: Vec<String>,
    port: u16,
}

#[derive(Debug, Error)]
enum ServerError {
    #[error("it was not said what the mesh is called")]
    NoMesh,
    #[error("it was not said where other machines reach this one")]
    NoAddress,
    #[error("the mesh of this state folder is `{was}`, not `{is}`")]
    OtherMesh { was: MeshName, is: MeshName },
    #[error("`{0}` is neither an address nor a name of a machine")]
    NoName(String),
    #[error("{} is damaged", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
}

/// How to begin.
const BEGIN: &str = "the first start: `mesh server --mesh NAME --address ADDRESS`";

impl ServerFile {
    /// What was kept, with what is said now over it; kept for the next start.
    fn of(args: &ServerArgs, folder: &Folder) -> Result<Self, Failure> {
        let path = folder.path().join("server.json");
        let kept: Option<Self> = match folder.read("server.json")? {
            Some(text) => {
                let read = serde_json::from_slice(&text);
                Some(read.map_err(|source| state_fault(ServerError::Damaged { path, source }))?)
            }
            None => None,
        };
        let mesh = match (args.mesh.clone(), kept.as_ref().map(|kept| kept.mesh.clone())) {
            (Some(is), Some(was)) if is != was => {
                return Err(Failure::new(ServerError::OtherMesh { was, is })
                    .hint("another mesh has a state folder of its own: name it by --state"));
            }
            (said, kept) => said.or(kept).ok_or_else(|| usage(ServerError::NoMesh))?,
        };
        let kept_addresses = || kept.as_ref().map(|kept| kept.addresses.clone()).unwrap_or_default();
        let addresses = if args.address.is_empty() { kept_addresses() } else { args.address.clone() };
        if addresses.is_empty() {
            return Err(usage(ServerError::NoAddress));
        }
        if let Some(none) = addresses.iter().find(|address| !is_host(address)) {
            return Err(usage(ServerError::NoName(none.clone())));
        }
        let port = args.port.or(kept.as_ref().map(|kept| kept.port)).unwrap_or(address::PORT);
        let node = args.node.clone().or(kept.as_ref().map(|kept| kept.node.clone()));
        let node = node.unwrap_or_else(|| "server".parse().expect("it is a name"));
        let file = Self { v: V1, mesh, node, addresses, port };
        if kept.as_ref() != Some(&file) {
            folder.write("server.json", &serde_json::to_vec(&file).expect("plain data serializes"))?;
        }
        Ok(file)
    }

    /// It listens on its first address where that is one of this machine's, else on all that the machine has.
    fn reach(&self) -> Reach {
        let own = |address: &String| address.parse().ok().filter(|_| local::is_here(address));
        let host = match &self.addresses[..] {
            [one] => own(one),
            _ => None,
        };
        let host = host.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        Reach::Tls { host, port: self.port, names: self.addresses.clone() }
    }
}

fn usage(error: ServerError) -> Failure {
    Failure::new(error).exit(Exit::WrongUsage).hint(BEGIN)
}

/// Whether a text can stand in an address and in a certificate.
fn is_host(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.parse::<IpAddr>().is_ok() || (text.len() <= 253 && text.split('.').all(label))
}

/// Runs it.
pub(crate) async fn run(args: ServerArgs, screen: Screen, around: Surroundings) -> Result<Exit, Failure> {
    let folder = Folder::make(&args.state)?;
    let _held = folder.take()?;
    let file = ServerFile::of(&args, &folder)?;
    log_to_stderr(&around.log);
    let (tell, mut ended) = mpsc::unbounded_channel();
    let seats = Tasks::new(tell);
    let catalog = mesh_plan::shipped();
    let parts = if args.seats.is_empty() { Part::all() } else { args.seats.iter().copied().collect() };
    let config = PlaneConfig {
        mesh: &file.mesh,
        catalog: &catalog,
        node: &file.node,
        folder: &folder,
        reach: file.reach(),
        parts,
        nats_server: args.nats_server.clone().or_else(|| around.nats_server.clone()),
        around: &around,
    };
    let plane = Plane::start(config, &seats).await?;
    let work = async {
        until_answered(&plane).await?;
        folder.announce(plane.address(), &plane.operator)?;
        tell_where(&screen, &file, &args.state);
        std::future::pending::<Result<Exit, Failure>>().await
    };
    let outcome = tokio::select! {
        outcome = work => outcome,
        Some(ended) = ended.recv() => Err(ended.into()),
        signal = told_to_stop() => signal,
    };
    folder.retract();
    seats.stop().await;
    plane.stop().await;
    outcome
}

/// Waits until whoever holds the controller's seat answers: this process, or the one that it stands by for.
async fn until_answered(plane: &Plane) -> Result<(), Failure> {
    let bus = Bus::connect(plane.address(), &plane.operator, FirstTry::IsRepeated).await;
    let bus = bus.map_err(Failure::new)?;
    while ask::<StatusAnswer>(&bus, "mesh-controller.status", &json!({})).await.is_err() {
        tokio::time::sleep(GLANCE).await;
    }
    bus.close().await;
    Ok(())
}

fn tell_where(screen: &Screen, file: &ServerFile, state: &Path) {
    let ServerFile { mesh, addresses, port, .. } = file;
    let at: Vec<String> = addresses.iter().map(|name| address::url(name, *port)).collect();
    screen.say(format!("the control plane of {mesh} is up, and reached at {}", at.join(", ")));
    let state = match state == Path::new(STATE) {
        true => String::new(),
        false => format!(" --state {}", state.display()),
    };
    screen.say(format!("`mesh node invite NODE{state}` lets a machine join"));
}

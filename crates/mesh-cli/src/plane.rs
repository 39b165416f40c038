//! The control plane in this process: the bus beside it, and the three seats, or some of them.
//!
//! The order is the whole of it: keys and certificates, the bus, who has joined, the seats. What a part does is in its own
//! crate.

use std::collections::BTreeSet;
use std::future::Future;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mesh_bus::account::Account;
use mesh_bus::accounts::Accounts;
use mesh_bus::server::{Listen, Places, ServerConfig, TlsListen, find};
use mesh_bus::tls::Ca;
use mesh_bus::{Address, Authority, Bucket, Bus, Creds, FirstTry, Server, UserKey, address, bucket};
use mesh_controller::{Entrance, Roster};
use mesh_model::name::{MeshName, NodeName, OperatorName};
use mesh_plan::Catalog;
use mesh_seal::{SystemRandom, VerifyingKey};
use time::OffsetDateTime;

use crate::exit::Failure;
use crate::process::{Folder, Surroundings, Tasks, state_fault};

mod certificates;

/// How long a seat is held after its holder was last heard of.
const LEASE: Duration = Duration::from_secs(3);
/// How long something must have been wanted by nobody before the vault drops it.
const GRACE: Duration = Duration::from_secs(30);

/// A part of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[value(rename_all = "verbatim")]
pub(crate) enum Part {
    #[value(name = "bus")]
    Bus,
    #[value(name = "mesh-controller")]
    Controller,
    #[value(name = "mesh-vault")]
    Vault,
    #[value(name = "mesh-provisioner")]
    Provisioner,
}

impl Part {
    /// All of them.
    pub(crate) fn all() -> BTreeSet<Self> {
        [Self::Bus, Self::Controller, Self::Vault, Self::Provisioner].into()
    }
}

/// Who reaches the bus.
#[derive(Debug, Clone)]
pub(crate) enum Reach {
    /// This machine alone, in the open.
    Loopback,
    /// Other machines, by TLS.
    Tls {
        /// The address of this machine that is listened on.
        host: IpAddr,
        /// The port.
        port: u16,
        /// The addresses and names that others know the machine by.
        names: Vec<String>,
    },
}

impl Reach {
    /// Where others reach the bus; none where they do not.
    fn urls(&self) -> Vec<String> {
        match self {
            Self::Loopback => Vec::new(),
            Self::Tls { port, names, .. } => names.iter().map(|name| address::url(name, *port)).collect(),
        }
    }
}

/// The bus and the seats.
pub(crate) struct Plane {
    server: Option<Server>,
    address: Address,
    authority: Arc<Authority>,
    /// Who has joined; lets nodes in.
    pub(crate) roster: Arc<Roster>,
    /// The key that the vault signs with.
    pub(crate) signer: VerifyingKey,
    /// The operator that this machine's commands are.
    pub(crate) operator: Creds,
}

/// What the control plane is started with.
pub(crate) struct PlaneConfig<'a> {
    /// The mesh.
    pub(crate) mesh: &'a MeshName,
    /// The modules that ship with mesh.
    pub(crate) catalog: &'a Catalog,
    /// The node that the seats are held by.
    pub(crate) node: &'a NodeName,
    /// The state folder.
    pub(crate) folder: &'a Folder,
    /// Who reaches the bus.
    pub(crate) reach: Reach,
    /// What runs here.
    pub(crate) parts: BTreeSet<Part>,
    /// The nats-server that was named.
    pub(crate) nats_server: Option<PathBuf>,
    /// What this process was given.
    pub(crate) around: &'a Surroundings,
}

impl Plane {
    /// Starts the bus, then the seats.
    pub(crate) async fn start(config: PlaneConfig<'_>, seats: &Tasks) -> Result<Self, Failure> {
        let state = config.folder.path();
        let clock = OffsetDateTime::now_utc;
        let authority = Authority::open(&state.join("keys"), clock).map_err(state_fault)?;
        let authority = Arc::new(authority);
        let ca = match &config.reach {
            Reach::Loopback => None,
            Reach::Tls { names, .. } => Some(certificates::open(&state.join("ca"), names, clock)?),
        };
        let server = match config.parts.contains(&Part::Bus) {
            true => Some(server(&config, ca.as_ref(), &authority).await?),
            false => None,
        };
        let elsewhere = || Address { urls: config.reach.urls(), ca: ca.as_ref().map(Ca::path) };
        let address = server.as_ref().map_or_else(elsewhere, |server| server.address().clone());
        let accounts = Accounts::connect(&address, Arc::clone(&authority)).await.map_err(Failure::new)?;
        let controller = seat(&address, &authority, "mesh-controller").await?;
        bucket::ensure(&controller, &Bucket::fixed()).await.map_err(Failure::new)?;
        let roster = Roster::open(&controller, Arc::clone(&authority), accounts, clock).await;
        let roster = Arc::new(roster.map_err(Failure::new)?);
        let operator = operator(&roster, config.folder.operator()).await?;
        let signer = mesh_vault::signing::signing_key(&state.join("vault"), &mut SystemRandom)
            .map_err(state_fault)?
            .verifying();
        let entrance = ca.as_ref().map(|ca| Entrance {
            mesh: config.mesh.clone(),
            urls: config.reach.urls(),
            ca: ca.fingerprint().clone(),
            signer: signer.clone(),
        });
        let plane = Self { server, address, authority, roster, signer, operator };
        plane.seats(&config, controller, entrance, seats).await?;
        if let (Some(ca), Some(server), Reach::Tls { names, .. }) = (ca, &plane.server, config.reach) {
            let reload = server.reload();
            seats.start("certificates".to_owned(), |stop| certificates::renew(ca, names, reload, stop));
        }
        Ok(plane)
    }

    /// Where the bus is, for this machine.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    async fn seats(
        &self,
        config: &PlaneConfig<'_>,
        controller: Bus,
        entrance: Option<Entrance>,
        seats: &Tasks,
    ) -> Result<(), Failure> {
        let clock = OffsetDateTime::now_utc;
        if config.parts.contains(&Part::Vault) {
            let vault = mesh_vault::Config {
                bus: seat(&self.address, &self.authority, "mesh-vault").await?,
                own: store(&self.address, &self.authority, "mesh-vault").await?,
                mesh: config.mesh.clone(),
                node: config.node.clone(),
                folder: config.folder.path().join("vault"),
                lease: LEASE,
                grace: GRACE,
                clock,
            };
            start(seats, "mesh-vault", |stop| mesh_vault::run(vault, stop));
        }
        if config.parts.contains(&Part::Provisioner) {
            let bus = seat(&self.address, &self.authority, "mesh-provisioner").await?;
            let provisioner = mesh_provisioner::Config::new(bus, config.node.clone(), clock);
            start(seats, "mesh-provisioner", |stop| mesh_provisioner::run(provisioner, stop));
        }
        if config.parts.contains(&Part::Controller) {
            let (roster, catalog) = (Arc::clone(&self.roster), config.catalog.clone());
            let controller = mesh_controller::Config {
                entrance,
                ..mesh_controller::Config::new(controller, roster, catalog, config.node.clone(), clock)
            };
            start(seats, "mesh-controller", |stop| mesh_controller::run(controller, stop));
        }
        Ok(())
    }

    /// Stops the bus. Whoever is on it should have left.
    pub(crate) async fn stop(self) {
        if let Some(server) = self.server {
            server.stop().await;
        }
    }
}

async fn seat(at: &Address, authority: &Authority, name: &str) -> Result<Bus, Failure> {
    connect(at, authority, &Account::Seat(name.parse().expect("it is a name"))).await
}

/// What a seat keeps for itself.
async fn store(at: &Address, authority: &Authority, name: &str) -> Result<Bus, Failure> {
    connect(at, authority, &Account::Store(name.parse().expect("it is a name"))).await
}

async fn connect(at: &Address, authority: &Authority, account: &Account) -> Result<Bus, Failure> {
    let creds = authority.creds(account);
    Bus::connect(at, &creds, FirstTry::Fails).await.map_err(Failure::new)
}

fn start<F, E>(tasks: &Tasks, name: &'static str, run: impl FnOnce(tokio_util::sync::CancellationToken) -> F)
where
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    tasks.start(name.to_owned(), run);
}

async fn server(config: &PlaneConfig<'_>, ca: Option<&Ca>, authority: &Authority) -> Result<Server, Failure> {
    let around = config.around;
    let beside = around.program.parent().map(Path::to_owned);
    // `cargo xtask setup` puts it beside the folders of the builds: `target/tools/bin`.
    let built = beside.as_deref().and_then(Path::parent).map(|target| target.join("tools/bin"));
    let places = Places {
        named: config.nats_server.clone(),
        path: around.path.clone(),
        folders: beside.into_iter().chain(built).collect(),
    };
    let listen = match (&config.reach, ca) {
        (Reach::Tls { host, port, .. }, Some(ca)) => {
            Listen::Tls(TlsListen { host: *host, port: *port, certificate: ca.certificate(), ca: ca.path() })
        }
        _ => Listen::Loopback { port: None },
    };
    let program = find(&places).map_err(Failure::new)?;
    let config = ServerConfig {
        program,
        folder: config.folder.path().join("bus"),
        listen,
        launcher: vec![around.program.as_os_str().to_owned(), "launch".into()],
    };
    Server::start(config, authority).await.map_err(Failure::new)
}

/// The operator of this machine, with the key of before where there is one.
async fn operator(roster: &Roster, before: Option<Creds>) -> Result<Creds, Failure> {
    let name: OperatorName = "local".parse().expect("it is a name");
    let user = before.map_or_else(UserKey::new, |before| before.key().clone());
    let token = roster.admit_operator(&name, &user.public(), None).await.map_err(Failure::new)?;
    Ok(Creds::new(Account::Operator(name), token, user))
}

//! The control plane in this process: the bus beside it, and the three seats.

use std::ffi::OsString;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mesh_bus::account::Account;
use mesh_bus::accounts::Accounts;
use mesh_bus::server::{Places, ServerConfig, find};
use mesh_bus::{Authority, Bucket, Bus, Creds, FirstTry, Server, UserKey, bucket};
use mesh_controller::Roster;
use mesh_model::name::{MeshName, NodeName, OperatorName, SeatName};
use mesh_plan::Catalog;
use mesh_seal::{SystemRandom, VerifyingKey};
use time::OffsetDateTime;

use super::folder::Folder;
use super::state_fault;
use super::tasks::Tasks;
use crate::exit::Failure;

/// How long a seat is held after its holder was last heard of.
const LEASE: Duration = Duration::from_secs(3);
/// How long something must have been wanted by nobody before the vault drops it.
const GRACE: Duration = Duration::from_secs(30);

/// The bus and the seats.
pub(crate) struct Plane {
    server: Server,
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
    /// The nats-server that was named.
    pub(crate) nats_server: Option<PathBuf>,
    /// The `PATH`.
    pub(crate) path: Option<OsString>,
    /// This program.
    pub(crate) program: &'a Path,
}

impl Plane {
    /// Starts the bus, then the seats.
    pub(crate) async fn start(config: PlaneConfig<'_>, seats: &Tasks) -> Result<Self, Failure> {
        let state = config.folder.path();
        let authority = Authority::open(&state.join("keys"), OffsetDateTime::now_utc).map_err(state_fault)?;
        let authority = Arc::new(authority);
        let server = server(&config, &authority).await?;
        let accounts = Accounts::connect(server.url(), Arc::clone(&authority)).await.map_err(Failure::new)?;
        let folder = state.join("controller");
        let roster = Roster::open(&folder, Arc::clone(&authority), accounts, OffsetDateTime::now_utc);
        let roster = Arc::new(roster.map_err(state_fault)?);
        let operator = operator(&roster, config.folder.operator()).await?;
        let signer = mesh_vault::signing::signing_key(&state.join("vault"), &mut SystemRandom)
            .map_err(state_fault)?
            .verifying();
        let plane = Self { server, authority, roster, signer, operator };
        plane.seats(&config, seats).await?;
        Ok(plane)
    }

    /// Where the bus listens.
    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }

    async fn seats(&self, config: &PlaneConfig<'_>, seats: &Tasks) -> Result<(), Failure> {
        let controller = self.seat("mesh-controller").await?;
        bucket::ensure(&controller, &Bucket::fixed()).await.map_err(Failure::new)?;
        let clock = OffsetDateTime::now_utc;
        let vault = mesh_vault::Config {
            bus: self.seat("mesh-vault").await?,
            own: self.connect(&Account::Store("mesh-vault".parse().expect("it is a name"))).await?,
            mesh: config.mesh.clone(),
            node: config.node.clone(),
            folder: config.folder.path().join("vault"),
            lease: LEASE,
            grace: GRACE,
            clock,
        };
        let provisioner =
            mesh_provisioner::Config::new(self.seat("mesh-provisioner").await?, config.node.clone(), clock);
        let (roster, catalog) = (Arc::clone(&self.roster), config.catalog.clone());
        let controller =
            mesh_controller::Config::new(controller, roster, catalog, config.node.clone(), clock);
        start(seats, "mesh-vault", |stop| mesh_vault::run(vault, stop));
        start(seats, "mesh-provisioner", |stop| mesh_provisioner::run(provisioner, stop));
        start(seats, "mesh-controller", |stop| mesh_controller::run(controller, stop));
        Ok(())
    }

    async fn seat(&self, name: &str) -> Result<Bus, Failure> {
        let seat: SeatName = name.parse().expect("it is a name");
        self.connect(&Account::Seat(seat)).await
    }

    async fn connect(&self, account: &Account) -> Result<Bus, Failure> {
        let creds = self.authority.creds(account).map_err(Failure::new)?;
        Bus::connect(self.server.url(), &creds, FirstTry::Fails).await.map_err(Failure::new)
    }

    /// Stops the bus. Whoever is on it should have left.
    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }
}

fn start<F, E>(tasks: &Tasks, name: &'static str, run: impl FnOnce(tokio_util::sync::CancellationToken) -> F)
where
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    tasks.start(name.to_owned(), run);
}

async fn server(config: &PlaneConfig<'_>, authority: &Authority) -> Result<Server, Failure> {
    let beside = config.program.parent().map(Path::to_owned);
    // `cargo xtask setup` puts it beside the folders of the builds: `target/tools/bin`.
    let built = beside.as_deref().and_then(Path::parent).map(|target| target.join("tools/bin"));
    let places = Places {
        named: config.nats_server.clone(),
        path: config.path.clone(),
        folders: beside.into_iter().chain(built).collect(),
    };
    let program = find(&places).map_err(Failure::new)?;
    let config = ServerConfig {
        program,
        folder: config.folder.path().join("bus"),
        port: None,
        launcher: vec![config.program.as_os_str().to_owned(), "launch".into()],
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

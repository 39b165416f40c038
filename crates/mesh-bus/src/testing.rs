//! A running bus in a temporary folder, for tests.
//!
//! Start at [`Bus::start`]; the server ends when it is dropped. With the real server, found by
//! `MESH_NATS_SERVER`, then PATH, then where `cargo xtask setup` puts it. A test without one fails, saying
//! how to get it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mesh_model::key::ModuleKey;
use mesh_model::name::{NodeName, OperatorName, SeatName};
use tempfile::TempDir;
use time::OffsetDateTime;

use crate::account::Account;
use crate::accounts::Accounts;
use crate::authority::Authority;
use crate::bucket::{self, Bucket};
use crate::client::{self, FirstTry};
use crate::grants::{Grants, ModuleReach, NodeReach, OperatorReach};
use crate::server::{self, Listen, Places, Server, ServerConfig};

/// The nats-server that tests run.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "tests have no edge that reads the environment for them")]
pub fn nats_server() -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/bin");
    let places = Places {
        named: std::env::var_os("MESH_NATS_SERVER").map(PathBuf::from),
        path: std::env::var_os("PATH"),
        folders: vec![tools],
    };
    server::find(&places).unwrap_or_else(|error| panic!("{error}"))
}

/// A bus with all fixed buckets, and nobody on it yet.
#[derive(Debug)]
pub struct Bus {
    /// The server.
    pub server: Server,
    /// Who signs.
    pub authority: Arc<Authority>,
    /// Who hands accounts to the server.
    pub accounts: Accounts,
    folder: TempDir,
}

impl Bus {
    /// Starts a server, and makes the buckets.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let authority = Authority::open(&folder.path().join("keys"), OffsetDateTime::now_utc);
        let authority = Arc::new(authority.expect("keys in an empty folder"));
        let config = ServerConfig {
            program: nats_server(),
            folder: folder.path().join("bus"),
            listen: Listen::Loopback { port: None },
            launcher: Vec::new(),
        };
        let server = Server::start(config, &authority).await.expect("a server in an empty folder");
        let accounts =
            Accounts::connect(server.url(), Arc::clone(&authority)).await.expect("the system account");
        let bus = Self { server, authority, accounts, folder };
        bus.buckets(&Bucket::fixed()).await;
        bus
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// The folder with all that it keeps, `keys` and `bus` in it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes buckets.
    pub async fn buckets(&self, buckets: &[Bucket]) {
        let controller = self.seat("mesh-controller").await;
        bucket::ensure(&controller, buckets).await.expect("buckets that are ours");
        controller.close().await;
    }

    /// A connection as the holder of a seat.
    pub async fn seat(&self, seat: &str) -> client::Bus {
        let seat: SeatName = seat.parse().expect("the name of a seat");
        self.connect(&Account::Seat(seat)).await
    }

    /// A connection to what the vault keeps for itself.
    pub async fn vault_store(&self) -> client::Bus {
        self.connect(&Account::Store("mesh-vault".parse().expect("it is a name"))).await
    }

    /// A connection that may do everything with the buckets: no account that there is, but the eyes and hands of a test.
    pub async fn all(&self) -> client::Bus {
        let creds = self.authority.creds_for_all();
        client::Bus::connect(self.url(), &creds, FirstTry::Fails).await.expect("the server lets us in")
    }

    /// A connection as a node of this reach; buckets of providers that it names are made.
    pub async fn node(&self, node: &str, reach: &NodeReach) -> client::Bus {
        let node: NodeName = node.parse().expect("the name of a node");
        let provided = reach.provides.iter().map(|provides| &provides.module);
        let bound: Vec<Bucket> = reach.providers.iter().chain(provided).map(Bucket::bound).collect();
        self.buckets(&bound).await;
        let grants = Grants::of_node(&node, reach);
        self.accounts.push(&grants).await.expect("the server takes the account");
        self.connect(&grants.account).await
    }

    /// A connection as the operator `local`.
    pub async fn operator(&self) -> client::Bus {
        self.operator_named("local").await
    }

    /// A connection as an operator.
    pub async fn operator_named(&self, name: &str) -> client::Bus {
        let name: OperatorName = name.parse().expect("the name of an operator");
        let grants = Grants::of_operator(&name, &OperatorReach::default());
        self.accounts.push(&grants).await.expect("the server takes the account");
        self.connect(&grants.account).await
    }

    /// A connection as a module with an account of its own, by its key (`<node>.<module>`).
    pub async fn module(&self, key: &str, reach: &ModuleReach) -> client::Bus {
        let key: ModuleKey = key.parse().expect("the key of a module");
        let grants = Grants::of_module(&key, reach);
        self.accounts.push(&grants).await.expect("the server takes the account");
        self.connect(&grants.account).await
    }

    /// A connection as an account that the server has.
    pub async fn connect(&self, account: &Account) -> client::Bus {
        let creds = self.authority.creds(account);
        client::Bus::connect(self.url(), &creds, FirstTry::Fails).await.expect("the server lets us in")
    }

    /// Kills the server as a power cut would, and waits until it runs again.
    pub async fn kill_server(&self) {
        let mut pids = self.server.pid();
        let pid = *pids.borrow_and_update();
        let raw = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(raw.expect("a running server"), rustix::process::Signal::KILL)
            .expect("our own process");
        let again = pids.wait_for(|now| now.is_some() && *now != pid);
        tokio::time::timeout(Duration::from_secs(20), again)
            .await
            .expect("the server is started again")
            .expect("it is kept running");
    }
}

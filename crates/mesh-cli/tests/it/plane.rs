//! The bus and the three seats in this process, with a state folder as `mesh up` leaves it, and no node.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mesh_bus::accounts::Accounts;
use mesh_bus::verb::ask;
use mesh_bus::{Account, Bus, Creds, FirstTry, UserKey, testing};
use mesh_controller::Roster;
use mesh_model::name::NodeName;
use mesh_model::wire::{PinAnswer, PinAsk};
use mesh_node::identity::{Identity, Joined, state_of};
use mesh_seal::{Recipient, SystemRandom, VerifyingKey};
use tempfile::TempDir;
use time::OffsetDateTime;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::program::{folder, put};

/// How long a seat may take to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// What runs, and the description's folder with the state folder in it.
pub(crate) struct Plane {
    pub(crate) home: TempDir,
    bus: testing::Bus,
    roster: Arc<Roster>,
    signer: VerifyingKey,
    seats: JoinSet<()>,
    stop: CancellationToken,
}

impl Plane {
    /// Starts it, with these files in the description's folder.
    pub(crate) async fn start(files: &str) -> Self {
        let (home, bus) = (folder(files), testing::Bus::start().await);
        let clock = OffsetDateTime::now_utc;
        let accounts = Accounts::connect(bus.url(), Arc::clone(&bus.authority)).await.unwrap();
        let seat = bus.seat("mesh-controller").await;
        let roster = Roster::open(&seat, Arc::clone(&bus.authority), accounts, clock).await;
        let roster = Arc::new(roster.unwrap());
        let vault = bus.folder().join("vault");
        let signer = mesh_vault::signing::signing_key(&vault, &mut SystemRandom).unwrap().verifying();
        let (seats, stop) = (JoinSet::new(), CancellationToken::new());
        let mut plane = Self { home, bus, roster, signer, seats, stop };
        plane.seats(vault).await;
        plane.leave_for_others().await;
        plane
    }

    /// The state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.home.path().join(".mesh")
    }

    async fn seats(&mut self, vault: PathBuf) {
        let node: NodeName = "attic".parse().unwrap();
        let clock = OffsetDateTime::now_utc;
        let vault = mesh_vault::Config {
            bus: self.bus.seat("mesh-vault").await,
            own: self.bus.vault_store().await,
            mesh: "home".parse().unwrap(),
            node: node.clone(),
            folder: vault,
            lease: Duration::from_secs(3),
            grace: Duration::from_secs(30),
            clock,
        };
        let provisioner = self.bus.seat("mesh-provisioner").await;
        let provisioner = mesh_provisioner::Config::new(provisioner, node.clone(), clock);
        let (controller, roster) = (self.bus.seat("mesh-controller").await, Arc::clone(&self.roster));
        let controller = mesh_controller::Config::new(controller, roster, mesh_plan::shipped(), node, clock);
        let stop = &self.stop;
        let (one, two, three) = (stop.clone(), stop.clone(), stop.clone());
        self.seats.spawn(async move { mesh_vault::run(vault, one).await.unwrap() });
        self.seats.spawn(async move { mesh_provisioner::run(provisioner, two).await.unwrap() });
        self.seats.spawn(async move { mesh_controller::run(controller, three).await.unwrap() });
    }

    async fn leave_for_others(&self) {
        let user = UserKey::new();
        let token =
            self.roster.admit_operator(&"local".parse().unwrap(), &user.public(), None).await.unwrap();
        let creds = Creds::new("operator=local".parse().unwrap(), token, user);
        std::fs::create_dir_all(self.state()).unwrap();
        std::os::unix::fs::symlink(self.bus.folder().join("keys"), self.state().join("keys")).unwrap();
        put(&self.state().join("operator.creds"), &creds.to_text());
        let file = serde_json::json!({"v": 1, "urls": [self.bus.url()], "creds": "operator.creds"});
        put(&self.state().join("bus.json"), &file.to_string());
        let bus = Bus::connect(self.bus.url(), &creds, FirstTry::Fails).await.unwrap();
        for verb in ["mesh-controller.status", "mesh-vault.list", "mesh-provisioner.provisioning"] {
            answers(&bus, verb).await;
        }
    }

    /// Lets a node in as if it ran on this machine: its identity is in the state folder.
    pub(crate) async fn join(&self, name: &str) {
        let node: NodeName = name.parse().unwrap();
        let state = state_of(&self.state(), &node);
        let mut identity = Identity::open(&state).unwrap();
        let user = UserKey::new();
        let token = self.roster.admit_node(&node, &user.public()).await.unwrap();
        let creds = Creds::new(Account::Node(node.clone()), token, user);
        let bus = Bus::connect(self.bus.url(), &creds, FirstTry::Fails).await.unwrap();
        let question = PinAsk { recipient: identity.sealing.public() };
        let verb = format!("mesh-vault.pin.{node}");
        let pinned: PinAnswer<Recipient, VerifyingKey> = ask(&bus, &verb, &question).await.unwrap();
        assert_eq!(pinned.verifying, self.signer);
        let joined = Joined { mesh: "home".parse().unwrap(), signer: pinned.verifying, creds, at: None };
        identity.join(&state, joined).unwrap();
    }

    /// Stops everything.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.seats.join_next().await {
            ended.unwrap();
        }
    }
}

/// Waits until somebody answers a verb.
async fn answers(bus: &Bus, verb: &str) {
    let end = tokio::time::Instant::now() + PATIENCE;
    while ask::<serde_json::Value>(bus, verb, &serde_json::json!({})).await.is_err() {
        assert!(tokio::time::Instant::now() < end, "{verb} is not answered");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

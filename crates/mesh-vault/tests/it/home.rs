//! A bus with a vault on it, and machines that ask it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mesh_bus::grants::NodeReach;
use mesh_bus::{Bucket, Kv, testing, verb};
use mesh_model::name::NodeName;
use mesh_model::wire::{CredentialRecord, PinAnswer, PinAsk, SecretAnswer, SecretAsk};
use mesh_seal::{Recipient, Sealed, SealingKey, VerifyingKey};
use mesh_vault::store::RedbStore;
use mesh_vault::{Config, ServiceError};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A bus, and a folder for the vault.
pub(crate) struct Home {
    pub(crate) bus: Arc<testing::Bus>,
    folder: tempfile::TempDir,
}

/// A vault that runs.
pub(crate) struct Running {
    pub(crate) store: PathBuf,
    stop: CancellationToken,
    task: JoinHandle<Result<(), ServiceError>>,
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }

    /// How it ended by itself.
    pub(crate) async fn ended(self) -> Result<(), ServiceError> {
        tokio::time::timeout(Duration::from_secs(20), self.task).await.unwrap().unwrap()
    }

    /// As a kill -9 would end it: nothing is finished.
    pub(crate) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
        // What a dead process does at once, an aborted task does soon: it lets go of the store.
        until("the store is let go of", async || RedbStore::open(&self.store).ok()).await;
    }
}

impl Home {
    pub(crate) async fn new() -> Self {
        Self { bus: Arc::new(testing::Bus::start().await), folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("vault")
    }

    pub(crate) async fn vault(&self) -> Running {
        self.vault_on("attic", self.folder()).await
    }

    /// A vault on another machine, with the signing key that it was handed.
    pub(crate) async fn standby(&self) -> Running {
        let folder = self.folder.path().join("standby");
        std::fs::create_dir_all(&folder).unwrap();
        until("the first has made its key", async || {
            std::fs::copy(self.folder().join("signing.key"), folder.join("signing.key")).ok()
        })
        .await;
        self.vault_on("cellar", folder).await
    }

    async fn vault_on(&self, on: &str, folder: PathBuf) -> Running {
        let store = folder.join("vault.redb");
        let config = Config {
            bus: self.bus.seat("mesh-vault").await,
            own: self.bus.vault_store().await,
            mesh: "home".parse().unwrap(),
            node: node(on),
            folder,
            lease: Duration::from_secs(1),
            grace: Duration::ZERO,
            clock: time::OffsetDateTime::now_utc,
        };
        let stop = CancellationToken::new();
        #[expect(clippy::disallowed_methods, reason = "the test awaits it, or ends it")]
        let task = tokio::spawn(mesh_vault::run(config, stop.clone()));
        Running { store, stop, task }
    }

    /// Assigns as the controller would.
    pub(crate) async fn assign(&self, on: &str, module: &str, parts: Value) {
        let controller = self.bus.seat("mesh-controller").await;
        let value = serde_json::to_vec(&assignment(on, module, parts)).unwrap();
        Kv::new(&controller, Bucket::assignments()).put(format!("{on}.{module}"), value).await.unwrap();
    }

    pub(crate) async fn unassign(&self, on: &str, module: &str) {
        let controller = self.bus.seat("mesh-controller").await;
        Kv::new(&controller, Bucket::assignments()).delete(format!("{on}.{module}")).await.unwrap();
    }

    /// What a key of `mesh-vault_credentials` says.
    pub(crate) async fn record(&self, key: &str) -> Option<CredentialRecord> {
        let controller = self.bus.seat("mesh-controller").await;
        let entry = Kv::new(&controller, Bucket::credentials()).get(key).await.unwrap()?;
        Some(serde_json::from_slice(&entry.value).unwrap())
    }
}

/// A machine on the bus.
pub(crate) struct Machine {
    pub(crate) name: NodeName,
    pub(crate) key: SealingKey,
    pub(crate) bus: mesh_bus::Bus,
}

impl Machine {
    pub(crate) async fn new(home: &Home, name: &str) -> Self {
        let bus = home.bus.node(name, &NodeReach::default()).await;
        Self { name: node(name), key: SealingKey::generate(), bus }
    }

    /// Shows its key, once the vault answers.
    pub(crate) async fn join(&self) -> VerifyingKey {
        let ask = PinAsk { recipient: self.key.public() };
        let verb = format!("mesh-vault.pin.{}", self.name);
        let answer: PinAnswer<Recipient, VerifyingKey> =
            until("the vault answers", async || verb::ask(&self.bus, &verb, &ask).await.ok()).await;
        answer.verifying
    }

    pub(crate) async fn secret(&self, module: &str, name: &str) -> SecretAnswer<Sealed> {
        let ask = SecretAsk { module: module.parse().unwrap(), name: name.to_owned() };
        verb::ask(&self.bus, &format!("mesh-vault.secret.{}", self.name), &ask).await.unwrap()
    }

    /// Asks until there is one.
    pub(crate) async fn one_secret(&self, module: &str, name: &str) -> Sealed {
        until("the secret is made", async || self.secret(module, name).await.credentials.pop()).await.sealed
    }
}

/// Waits for a condition, for ten seconds.
pub(crate) async fn until<T>(what: &str, mut is_so: impl AsyncFnMut() -> Option<T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(10), async {
        loop {
            if let Some(value) = is_so().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("waited ten seconds until {what}"))
}

pub(crate) fn node(name: &str) -> NodeName {
    name.parse().unwrap()
}

/// An assignment as it is on the bus, with some of it replaced.
fn assignment(on: &str, module: &str, parts: Value) -> Value {
    let nothing = mesh_model::digest::Digest::of(b"");
    let mut value = json!({
        "v": 1, "plan": nothing, "digest": nothing, "node": on, "module": module, "manifest": nothing,
        "machine": {"name": on}, "folder": format!("/srv/{module}"), "ports": {}, "dirs": {}, "access": {},
        "seats": {}, "settings": nothing, "files": {}, "run": {}, "contributes": {}, "secrets": {},
        "needs": [], "provides": {}, "consumers": [],
    });
    for (name, part) in parts.as_object().unwrap() {
        value[name] = part.clone();
    }
    value
}

/// `notes` on cellar with its database, a secret of its own and a supplied one; `postgres` on attic.
pub(crate) async fn quickstart(home: &Home) {
    let own = |name: &str| json!({name: {"length": 32, "alphabet": "alphanumeric"}});
    home.assign("attic", "postgres", json!({"secrets": own("superuser")})).await;
    let need = json!({
        "local": "db", "provision": "postgres-database", "from": {"module": "postgres", "node": "attic"},
        "contribution": {}, "revision": mesh_model::digest::Digest::of(b""),
        "gives": {"host": {"as": "value"}, "password": {"as": "secret", "length": 24, "alphabet": "hex"}},
    });
    let mut secrets = own("admin");
    secrets["smtp"] = json!({"length": 32, "alphabet": "alphanumeric", "supplied": true});
    home.assign("cellar", "notes", json!({"secrets": secrets, "needs": [need]})).await;
}

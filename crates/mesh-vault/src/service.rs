//! The vault on the bus: holds the seat, answers the verbs, and looks again whenever something may
//! have changed, and every 30 seconds.
//!
//! A message is only a reason to look: each look reads all of the assignments and all that is kept.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mesh_bus::account::{Account, Usage};
use mesh_bus::grants::{CONFIRM_ESCROW, SERVER};
use mesh_bus::mirror::Entries;
use mesh_bus::seat::{self, Tenure, Terms};
use mesh_bus::verb::{Ask, MAX_QUESTION, ServeError, Service, VerbError};
use mesh_bus::{Bucket, Mirror};
use mesh_model::key::ModuleKey;
use mesh_model::name::{NodeName, SeatName};
use mesh_model::wire::Applied;
use mesh_seal::{Recipient, SystemRandom};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::sync::Notify;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use crate::answer;
use crate::assigned::Assigned;
use crate::config::Config;
use crate::follow::{FollowError, Follower};
use crate::plan::Step;
use crate::planned::Planned;
use crate::publish::Publisher;
use crate::rotation::{self, Stopped};
use crate::rules::Wanted;
use crate::signing::{KeyError, signing_key};
use crate::store::{RedbStore, Store, StoreError, store_file};
use crate::vault::{Look, Turned, Vault};

/// How long it takes at most until the vault looks again, whatever got lost.
const PERIOD: Duration = Duration::from_secs(30);
/// While something is rotated it looks more often: somebody may have taken too long.
const ROTATING: Duration = Duration::from_secs(1);
/// After a look that failed it looks again sooner.
const RETRY: Duration = Duration::from_secs(1);

/// The vault could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Its signing key is not there.
    #[error("the vault has no signing key")]
    Signing {
        /// Why.
        #[from]
        source: KeyError,
    },
    /// Its store cannot be used.
    #[error("the vault has no store")]
    Store {
        /// Why.
        #[from]
        source: StoreError,
    },
    /// Its store does not go with the log that others follow.
    #[error("the vault cannot take up what it kept")]
    Follow {
        /// Why.
        #[from]
        source: FollowError,
    },
    /// Its verbs cannot be offered.
    #[error("the vault cannot answer")]
    Serve {
        /// Why.
        #[from]
        source: ServeError,
    },
}

/// Runs the vault until it is told to stop: while the seat is held it answers, and else it stands by, and follows what the
/// holder keeps.
pub async fn run(config: Config, shutdown: CancellationToken) -> Result<(), ServiceError> {
    let (vault, store) = open(&config)?;
    let follower = Follower::new(config.own.clone(), Arc::clone(&store), config.folder.clone());
    let terms = Terms { seat: seat(), node: config.node.clone(), lease: config.lease, clock: config.clock };
    let is_held = AtomicBool::new(false);
    let work = |tenure| async {
        is_held.store(true, Ordering::Release);
        let held = hold(&config, Arc::clone(&vault), &store, &follower, tenure).await;
        // What was begun in this term ends in it.
        let vault = Arc::clone(&vault);
        if let Err(error) = tokio::task::spawn_blocking(move || vault.rest()).await {
            failed(&error);
        }
        is_held.store(false, Ordering::Release);
        held
    };
    let written = [Bucket::credentials()];
    tokio::select! {
        ended = seat::hold(&config.bus, terms, &written, &shutdown, work) => ended,
        () = follower.stand_by(|| is_held.load(Ordering::Acquire)) => unreachable!("it has no end"),
    }
}

/// What the vault does while it holds the seat: first of all it takes up everything that was kept before.
async fn hold(
    config: &Config,
    vault: Arc<Vault>,
    store: &RedbStore,
    follower: &Follower,
    tenure: Tenure,
) -> Result<(), ServiceError> {
    let Some(writer) = follower.take(&tenure).await? else { return Ok(()) };
    store.attach(writer);
    let desk = Desk { vault: Arc::clone(&vault), nudge: Arc::new(Notify::new()) };
    let mut watcher = Watcher::new(config, vault, &tenure);
    let looked = tokio::select! {
        () = watcher.ready() => true,
        () = tenure.over().cancelled() => false,
    };
    if looked {
        let service = desk.serve(&tenure).await?;
        watcher.run(&desk, &tenure).await;
        service.stop().await;
    }
    Ok(())
}

/// What it keeps, opened; made at the first start.
fn open(config: &Config) -> Result<(Arc<Vault>, Arc<RedbStore>), ServiceError> {
    let folder = &config.folder;
    let signing = signing_key(folder, &mut SystemRandom)?;
    let store = Arc::new(RedbStore::open(&store_file(folder))?);
    let vault = Vault::new(config.mesh.clone(), signing, Arc::clone(&store) as Arc<dyn Store>);
    Ok((Arc::new(vault), store))
}

fn seat() -> SeatName {
    "mesh-vault".parse().expect("it is a name")
}

/// What is looked at, and what comes of it.
struct Watcher {
    vault: Arc<Vault>,
    assignments: Mirror,
    credentials: Mirror,
    applied: Mirror,
    is_rotating: bool,
    assigned: Arc<Mutex<Assigned>>,
    planned: Planned,
    publisher: Publisher,
    grace: Duration,
}

impl Watcher {
    fn new(config: &Config, vault: Arc<Vault>, tenure: &Tenure) -> Self {
        let mirror = |bucket| Mirror::open(&config.bus, bucket, ">", Usage::read());
        Self {
            vault,
            assignments: mirror(Bucket::assignments()),
            credentials: mirror(Bucket::credentials()),
            applied: mirror(Bucket::applied()),
            is_rotating: false,
            assigned: Arc::default(),
            planned: Planned::open(&config.bus),
            publisher: Publisher::new(tenure.kv(Bucket::credentials())),
            grace: config.grace,
        }
    }

    async fn ready(&self) {
        self.assignments.ready().await;
        self.credentials.ready().await;
        self.planned.ready().await;
        self.applied.ready().await;
    }

    async fn run(&mut self, desk: &Desk, tenure: &Tenure) {
        loop {
            let pause = if self.look().await { PERIOD } else { RETRY };
            tokio::select! {
                () = tenure.over().cancelled() => return,
                () = self.assignments.changed() => {}
                () = self.credentials.changed() => {}
                () = self.planned.changed() => {}
                () = self.applied.changed(), if self.is_rotating => {}
                () = tokio::time::sleep(ROTATING), if self.is_rotating => {}
                () = desk.nudge.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// One look; says whether all went well.
    async fn look(&mut self) -> bool {
        let assignments = self.assignments.snapshot();
        let escrow = match self.planned.escrow(&assignments).await {
            Ok(escrow) => escrow,
            Err(error) => return failed(&error),
        };
        let look = match self.look_at(assignments, escrow).await {
            Ok(Ok(look)) => look,
            Ok(Err(error)) => return failed(&error),
            Err(error) => return failed(&error),
        };
        look.tell();
        self.is_rotating = look.is_rotating;
        match self.publisher.publish(&look.records, &self.credentials.snapshot()).await {
            Ok(_) => look.failed.is_empty(),
            Err(error) => failed(&error),
        }
    }

    async fn look_at(
        &self,
        bucket: Entries,
        escrow: Option<BTreeSet<Recipient>>,
    ) -> Result<Result<Look, StoreError>, JoinError> {
        let (vault, assigned, grace) = (Arc::clone(&self.vault), Arc::clone(&self.assigned), self.grace);
        let applied = self.applied.snapshot();
        let look = move || {
            let mut assigned = assigned.lock().unwrap_or_else(PoisonError::into_inner);
            assigned.read(&bucket);
            // One that cannot be read says nothing.
            let told = |module: &ModuleKey| -> Option<Applied> {
                let told: Applied = serde_json::from_slice(&applied.get(&module.to_string())?.value).ok()?;
                ((&told.node, &told.module) == (&module.node, &module.module)).then_some(told)
            };
            let now = Instant::now();
            vault.look(|kept| Wanted { escrow, ..assigned.wanted(kept, grace, now) }, &told, now)
        };
        tokio::task::spawn_blocking(look).await
    }
}

impl Look {
    fn tell(&self) {
        for step in &self.steps {
            match step {
                Step::Make { key, why, .. } => tracing::info!(%key, %why, "made a credential"),
                Step::Drop { key, why } => tracing::info!(%key, %why, "dropped a credential"),
                Step::WaitForKey { .. } | Step::WaitForOperator { .. } => {}
            }
        }
        for turned in &self.turned {
            tell(turned);
        }
        for error in &self.failed {
            tracing::error!(error = error as &dyn std::error::Error, "a credential could not be made");
        }
    }
}

fn tell(Turned { name, step }: &Turned) {
    match step {
        rotation::Step::Begin { node, .. } => tracing::info!(%name, %node, "made a second credential"),
        rotation::Step::Narrow { node } => {
            tracing::info!(%name, %node, "its consumer has taken up the new one")
        }
        rotation::Step::Retire { node, id } => tracing::info!(%name, %node, id, "retired a credential"),
        rotation::Step::Leave { node } => tracing::info!(%name, %node, "no part of the rotation any more"),
        rotation::Step::Stop(Stopped { at, why }) => tracing::warn!(%name, %at, why, "the rotation stops"),
        rotation::Step::Finish => tracing::info!(%name, "the rotation is over"),
    }
}

fn failed(error: &(dyn std::error::Error + 'static)) -> bool {
    tracing::warn!(error, "a look at what is wanted failed; looking again");
    false
}

/// Answers the verbs.
#[derive(Clone)]
struct Desk {
    vault: Arc<Vault>,
    nudge: Arc<Notify>,
}

impl Desk {
    async fn serve(&self, tenure: &Tenure) -> Result<Service, ServeError> {
        let summary = "makes, seals and keeps secrets";
        let service = Service::of_seat(tenure, &seat(), env!("CARGO_PKG_VERSION"), summary).await?;
        self.of_nodes(&service, "mesh-vault.pin.*", |desk, node, ask| {
            let answer = answer::pin(&desk.vault, &node, &ask);
            desk.nudge.notify_one();
            answer
        })
        .await?;
        self.of_nodes(&service, "mesh-vault.secret.*", |desk, node, ask| {
            answer::secret(&desk.vault, &node, ask)
        })
        .await?;
        self.of_nodes(&service, "mesh-vault.consumers.*", |desk, node, ask| {
            answer::consumers(&desk.vault, &node, &ask)
        })
        .await?;
        self.of_operators(&service, "mesh-vault.list", |desk, ask| answer::list(&desk.vault, &ask)).await?;
        self.of_operators(&service, "mesh-vault.recipients", |desk, ask| {
            answer::recipients(&desk.vault, &ask)
        })
        .await?;
        self.of_operators(&service, "mesh-vault.escrow", |desk, _: IgnoredAny| {
            Ok(answer::escrow::recipients(&desk.vault))
        })
        .await?;
        self.of_operators(&service, "mesh-vault.escrowed", |desk, ask| {
            answer::escrow::copies(&desk.vault, &ask)
        })
        .await?;
        self.of_the_server(&service).await?;
        self.of_operators(&service, "mesh-vault.put", |desk, ask| {
            let answer = answer::put(&desk.vault, ask);
            desk.nudge.notify_one();
            answer
        })
        .await?;
        self.of_operators(&service, "mesh-vault.rotate", |desk, ask| {
            let answer = answer::rotate(&desk.vault, ask);
            desk.nudge.notify_one();
            answer
        })
        .await?;
        Ok(service)
    }

    /// A verb that a node asks under its own name.
    async fn of_nodes<Q, A>(
        &self,
        service: &Service,
        subject: &str,
        answer: fn(&Desk, NodeName, Q) -> Result<A, VerbError>,
    ) -> Result<(), ServeError>
    where
        Q: DeserializeOwned + Send + 'static,
        A: Serialize + Send + 'static,
    {
        let desk = self.clone();
        let handler = move |ask: Ask| {
            desk.clone().work(move |desk| {
                let node = ask.node()?.clone();
                answer(desk, node, ask.read()?)
            })
        };
        service.answer(subject, MAX_QUESTION, handler).await
    }

    /// A verb of operators.
    async fn of_operators<Q, A>(
        &self,
        service: &Service,
        subject: &str,
        answer: fn(&Desk, Q) -> Result<A, VerbError>,
    ) -> Result<(), ServeError>
    where
        Q: DeserializeOwned + Send + 'static,
        A: Serialize + Send + 'static,
    {
        let desk = self.clone();
        let handler = move |ask: Ask| desk.clone().work(move |desk| answer(desk, ask.read()?));
        service.answer(subject, MAX_QUESTION, handler).await
    }

    /// What nobody may say but who has the server's keys, whatever the bus lets through.
    async fn of_the_server(&self, service: &Service) -> Result<(), ServeError> {
        let (desk, server) = (self.clone(), Account::Seat(SERVER.parse().expect("it is a name")));
        let handler = move |ask: Ask| {
            let is_at_server = ask.by == server;
            desk.clone().work(move |desk| {
                if !is_at_server {
                    let message = "an escrow recipient is confirmed on the server's machine alone";
                    return Err(VerbError::new("not-here", message));
                }
                let answer = answer::escrow::confirm(&desk.vault, &ask.read()?);
                desk.nudge.notify_one();
                answer
            })
        };
        service.answer(CONFIRM_ESCROW, MAX_QUESTION, handler).await
    }

    /// Off the threads of the bus, since it waits for the disk.
    async fn work<A: Send + 'static>(
        self,
        answer: impl FnOnce(&Desk) -> Result<A, VerbError> + Send + 'static,
    ) -> Result<A, VerbError> {
        let worked = tokio::task::spawn_blocking(move || answer(&self)).await;
        worked.unwrap_or_else(|error| {
            tracing::error!(%error, "answering failed");
            Err(VerbError::new("internal", "answering failed: this is a fault of mesh; its log says more"))
        })
    }
}

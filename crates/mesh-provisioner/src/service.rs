//! The seat on the bus: it keeps the registry right, and answers the verb from what it mirrors.
//!
//! Start at [`run`]. While it does not hold the seat, it answers and writes nothing.

use std::sync::Arc;
use std::time::Duration;

use mesh_bus::account::Usage;
use mesh_bus::kv::KvError;
use mesh_bus::seat::{self, Tenure, Terms};
use mesh_bus::verb::{Ask, MAX_QUESTION, ServeError, Service, VerbError};
use mesh_bus::{Bucket, Bus, Kv, Mirror};
use mesh_model::name::SeatName;
use mesh_model::wire::{ProvisioningAnswer, ProvisioningAsk, What};
use thiserror::Error;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::provisioning::{self, bucket};
use crate::registry::{self, Step};

/// Why the service ended before it was told to.
#[derive(Debug, Error)]
pub enum RunError {
    /// The verb cannot be offered.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Why the registry could not be set right.
#[derive(Debug, Error)]
#[error("cannot set the registry's entry for `{kind}` right")]
struct RegistryError {
    kind: String,
    #[source]
    source: KvError,
}

/// Holds the seat until told to stop, or stands by until it may.
///
/// # Errors
/// Where the bus does not let the verb be offered.
pub async fn run(config: Config, shutdown: CancellationToken) -> Result<(), RunError> {
    let seat: SeatName = "mesh-provisioner".parse().expect("it is a name");
    let Config { bus, node, lease, period, clock } = config;
    let mirrors = Arc::new(Mirrors::open(&bus));
    let terms = Terms { seat: seat.clone(), node, lease, clock };
    let work = |tenure| hold(tenure, seat.clone(), Arc::clone(&mirrors), period);
    seat::hold(&bus, terms, &[Bucket::registry()], &shutdown, work).await
}

/// What the seat does while it is held.
async fn hold(
    tenure: Tenure,
    seat: SeatName,
    mirrors: Arc<Mirrors>,
    period: Duration,
) -> Result<(), RunError> {
    tokio::select! {
        () = mirrors.ready() => {}
        () = tenure.over().cancelled() => return Ok(()),
    }
    set_right(&tenure, &mirrors).await;
    let service = offer(&tenure, &seat, Arc::clone(&mirrors)).await?;
    let mut period = tokio::time::interval(period);
    period.set_missed_tick_behavior(MissedTickBehavior::Delay);
    period.reset();
    loop {
        tokio::select! {
            _ = period.tick() => set_right(&tenure, &mirrors).await,
            () = tenure.over().cancelled() => break,
        }
    }
    service.stop().await;
    Ok(())
}

async fn offer(tenure: &Tenure, seat: &SeatName, mirrors: Arc<Mirrors>) -> Result<Service, ServeError> {
    let summary = "Which domain answers which kind, and who needs what";
    let service = Service::of_seat(tenure, seat, env!("CARGO_PKG_VERSION"), summary).await?;
    let handler = move |ask: Ask| {
        let mirrors = Arc::clone(&mirrors);
        async move { mirrors.answer(&ask) }
    };
    service.answer("mesh-provisioner.provisioning", MAX_QUESTION, handler).await?;
    Ok(service)
}

/// All that the verb answers from.
#[derive(Debug)]
struct Mirrors {
    registry: Mirror,
    needs: Mirror,
    applied: Mirror,
    collect: Mirror,
}

impl Mirrors {
    fn open(bus: &Bus) -> Self {
        let open = |bucket: Bucket| Mirror::open(bus, bucket, ">", Usage::read());
        Self {
            registry: open(bucket(What::Registry)),
            needs: open(bucket(What::Needs)),
            applied: open(bucket(What::Applied)),
            collect: open(bucket(What::Collect)),
        }
    }

    async fn ready(&self) {
        for mirror in [&self.registry, &self.needs, &self.applied, &self.collect] {
            mirror.ready().await;
        }
    }

    fn answer(&self, ask: &Ask) -> Result<ProvisioningAnswer, VerbError> {
        let ask: ProvisioningAsk = ask.read()?;
        let mirror = match ask.what {
            What::Registry => &self.registry,
            What::Needs => &self.needs,
            What::Applied => &self.applied,
            What::Collect => &self.collect,
        };
        let entries = mirror.snapshot();
        provisioning::select(entries.iter().map(|(key, entry)| (key.as_str(), entry.value.as_ref())), &ask)
    }
}

/// Sets the registry right where it differs. What fails is told, and tried again at the next period.
async fn set_right(tenure: &Tenure, mirrors: &Mirrors) {
    let held = mirrors.registry.snapshot();
    let entries = held.iter().map(|(key, entry)| (key.as_str(), entry.value.as_ref()));
    let kv = tenure.kv(Bucket::registry());
    for step in registry::steps(&registry::table(), entries) {
        if let Err(error) = take(&kv, step).await {
            tracing::error!(error = &error as &dyn std::error::Error, "the registry is not as it should be");
        }
    }
}

async fn take(kv: &Kv, step: Step) -> Result<(), RegistryError> {
    match step {
        Step::Write(registration) => {
            let kind = registration.kind;
            tracing::info!(%kind, "the registry's entry is written");
            let value = serde_json::to_vec(&registration).expect("plain data serializes");
            let written = kv.put(kind, value).await;
            written.map(drop).map_err(|source| RegistryError { kind: kind.to_string(), source })
        }
        Step::Delete(kind) => {
            tracing::warn!(kind, "no domain answers this kind: its entry is deleted");
            kv.delete(&kind).await.map(drop).map_err(|source| RegistryError { kind, source })
        }
    }
}

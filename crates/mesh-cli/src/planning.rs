//! A description, planned against what is in effect; and what that would change, in words.
//!
//! Planning itself is `mesh-plan`'s. Here what is in effect is read off the bus, without touching anything there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mesh_bus::verb::{AskError, ask};
use mesh_bus::{Bucket, Bus, Kv};
use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::name::{MeshName, NodeName};
use mesh_model::refusal::Refusal;
use mesh_model::wire::{Assignment, Config, PlanRecord, StatusAnswer, Timestamp};
use mesh_plan::{Catalog, Change, Description, Document, Facts, Outcome, Plan};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use time::OffsetDateTime;
use tokio::time::{Instant, sleep};

use mesh_cli::description::{self, LoadError};
use mesh_cli::refusals::{self, Colour, Look, Weight};

use crate::exit::{Exit, Failure};
use crate::look::whole;
use crate::screen::{Screen, WIDTH};

mod words;

pub(crate) use words::told;

/// How long buckets that do not say what the plan says are waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two questions whether they do.
const PAUSE: Duration = Duration::from_millis(50);

/// What is in effect.
#[derive(Debug, Default)]
pub(crate) struct InEffect {
    plan: Option<PlanRecord>,
    facts: Facts,
    assignments: BTreeMap<ModuleKey, Assignment>,
    settings: BTreeMap<ModuleKey, Config>,
}

/// A description that was read, and what came of planning it.
#[derive(Debug)]
pub(crate) struct Read {
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// The modules that ship with mesh.
    pub(crate) catalog: Catalog,
    /// What is in the folder, and the shipped modules that it assigns.
    pub(crate) description: Description,
    /// What came of it.
    pub(crate) outcome: Outcome,
    /// What it would change.
    pub(crate) changes: Vec<Change>,
    /// The plan that is in effect.
    pub(crate) follows: Option<Digest>,
    /// The recipients of escrow that it names.
    pub(crate) escrow_before: Vec<String>,
}

/// Why what is in effect could not be read.
#[derive(Debug, Error)]
enum PlanningError {
    #[error("cannot read the plan in effect")]
    Get(#[source] mesh_bus::kv::KvError),
    #[error("{key} of {bucket} cannot be read")]
    Value { bucket: Bucket, key: String, source: serde_json::Error },
    #[error("the description is refused: {}", if *many == 1 { "1 thing in it could never work".to_owned() } else { format!("{many} things in it could never work") })]
    Refused { many: usize },
}

/// Why a plan of before could not be compared with.
#[derive(Debug, Error)]
pub(crate) enum AgainstError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not a plan as `mesh plan --format json` prints it", path.display())]
    Shape { path: PathBuf, source: serde_json::Error },
    #[error("{} holds no plan: what it tells of was refused", path.display())]
    Refused { path: PathBuf },
}

impl From<AgainstError> for Failure {
    fn from(error: AgainstError) -> Self {
        let hint = match &error {
            AgainstError::Read { .. } => "",
            _ => "`mesh plan --format json > PLAN.json` writes one, of a description that is accepted",
        };
        Self::new(error).hint(hint)
    }
}

impl InEffect {
    /// Reads it from a document, as if that were in effect.
    pub(crate) fn document(path: &Path) -> Result<Self, AgainstError> {
        /// All that is read of what `mesh plan --format json` prints.
        #[derive(Deserialize)]
        struct Printed {
            ok: bool,
            plan: Option<Document>,
        }

        let named = || path.to_owned();
        let text = std::fs::read(path).map_err(|source| AgainstError::Read { path: named(), source })?;
        let printed: Printed =
            serde_json::from_slice(&text).map_err(|source| AgainstError::Shape { path: named(), source })?;
        let Some(document) = printed.plan.filter(|_| printed.ok) else {
            return Err(AgainstError::Refused { path: named() });
        };
        let (plan, facts) = document.record("nobody", Timestamp::new(OffsetDateTime::UNIX_EPOCH));
        let (assignments, settings) = document.into_parts();
        Ok(Self { plan: Some(plan), facts, assignments, settings })
    }

    /// Reads it off the bus.
    pub(crate) async fn read(bus: &Bus, screen: &Screen) -> Result<Self, Failure> {
        let status = in_step(bus).await?;
        if !status.in_step {
            screen.warn(
                "the plan in effect has not reached the nodes yet: what changes is told against what they have",
            );
        }
        let record = Kv::new(bus, Bucket::plan()).get("current").await;
        let record =
            record.map_err(|error| Failure::new(PlanningError::Get(error)).exit(Exit::Unreachable))?;
        let plan: Option<PlanRecord> =
            record.map(|entry| value(&Bucket::plan(), "current", &entry.value)).transpose()?;
        let mut facts = Facts::default();
        if let Some(plan) = &plan {
            facts.roots = plan.roots.clone();
            facts.held = plan.held.clone();
        }
        let roots = status.nodes.into_iter().filter_map(|node| Some((node.node, node.root?)));
        facts.roots.extend(roots);
        let (assignments, settings) = match plan {
            None => Default::default(),
            Some(_) => (values(bus, Bucket::assignments()).await?, values(bus, Bucket::config()).await?),
        };
        Ok(Self { plan, facts, assignments, settings })
    }

    /// Reads a folder, and plans it to follow what is in effect.
    pub(crate) fn plan(&self, folder: &Path) -> Result<Read, Failure> {
        let catalog = mesh_plan::shipped();
        let description = description::load(folder, &catalog)?;
        let outcome = mesh_plan::plan(&description, &catalog, self.plan.as_ref(), &self.facts);
        let plan = outcome.plan.as_ref();
        let changes = plan.map(|plan| mesh_plan::diff(&self.assignments, &self.settings, plan));
        let (changes, before) = (changes.unwrap_or_default(), self.plan.as_ref());
        let follows = before.map(|plan| plan.id.clone());
        let escrow_before = before.map(|plan| plan.escrow.clone()).unwrap_or_default();
        Ok(Read { folder: folder.to_owned(), catalog, description, outcome, changes, follows, escrow_before })
    }
}

impl Read {
    /// Reads a folder, and fails where anything in it is refused, which is said; nothing is known of what is in effect.
    pub(crate) fn of(folder: &Path, screen: &Screen) -> Result<Self, Failure> {
        let read = InEffect::default().plan(folder)?;
        read.accepted(screen)?;
        Ok(read)
    }

    /// Says what is refused and what is warned of, on standard error; fails where anything is refused.
    pub(crate) fn accepted(&self, screen: &Screen) -> Result<&Plan, Failure> {
        self.say(&self.outcome.refusals, Weight::Refused, screen);
        self.say(&self.outcome.warnings, Weight::Warning, screen);
        self.outcome.plan.as_ref().ok_or_else(|| refused(self.outcome.refusals.len()))
    }

    /// The plan of a description that was accepted.
    pub(crate) fn plan(&self) -> &Plan {
        self.outcome.plan.as_ref().expect("only what was accepted is asked for its plan")
    }

    /// The mesh of a description that was accepted.
    pub(crate) fn mesh(&self) -> &MeshName {
        &self.plan().mesh
    }

    /// The nodes of a description that was accepted, with their addresses.
    pub(crate) fn nodes(&self) -> &BTreeMap<NodeName, Option<String>> {
        &self.plan().nodes
    }

    /// Says refusals or warnings, with the lines that they are about, on standard error.
    pub(crate) fn say(&self, refusals: &[Refusal], weight: Weight, screen: &Screen) {
        let colour = if screen.colours_err() { Colour::Yes } else { Colour::No };
        let text = refusals::render(refusals, weight, &self.description.texts, Look { colour, width: WIDTH });
        if !refusals.is_empty() {
            screen.say(text);
        }
    }
}

/// How many things were refused, once each was said.
pub(crate) fn refused(many: usize) -> Failure {
    Failure::new(PlanningError::Refused { many }).hint("`mesh explain CODE` says more of each")
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        let hint = match &error {
            LoadError::NoMesh { .. } => "name the folder with the mesh.yaml in it",
            LoadError::Escapes { .. } | LoadError::Circle { .. } => {
                "put a copy of what it leads to in its place"
            }
            LoadError::TooMany { .. } | LoadError::TooDeep { .. } => {
                "a description is a folder of its own; what begins with a dot is left out"
            }
            LoadError::Changed { .. } => "do it again",
            _ => "",
        };
        Self::new(error).hint(hint)
    }
}

/// How the control plane stands, once the buckets say what the plan says; or after a while, however it stands.
async fn in_step(bus: &Bus) -> Result<StatusAnswer, AskError> {
    let end = Instant::now() + PATIENCE;
    loop {
        let status: StatusAnswer = ask(bus, "mesh-controller.status", &serde_json::json!({})).await?;
        if status.in_step || Instant::now() > end {
            return Ok(status);
        }
        sleep(PAUSE).await;
    }
}

fn value<T: DeserializeOwned>(bucket: &Bucket, key: &str, value: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(value).map_err(|source| {
        Failure::new(PlanningError::Value { bucket: bucket.clone(), key: key.to_owned(), source })
    })
}

/// All values of a bucket with a module on a node for a key; one out of shape is passed over, as the nodes do.
async fn values<T: DeserializeOwned>(bus: &Bus, bucket: Bucket) -> Result<BTreeMap<ModuleKey, T>, Failure> {
    let mut values = BTreeMap::new();
    for (key, entry) in whole(bus, &bucket).await? {
        if let (Ok(place), Ok(value)) = (key.parse(), serde_json::from_slice(&entry.value)) {
            values.insert(place, value);
        }
    }
    Ok(values)
}

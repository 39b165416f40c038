//! From a description that was handed over to the plan in effect, or to everything that is wrong with it.
//!
//! Start at [`Planning::apply`]. The planning itself is `mesh_plan::plan`, the same that the command runs; what is here
//! is around it: the texts are there, the plan follows the one that the operator saw, and it takes effect by compare-and-set.
//! What took effect is handed to the mirror through [`Planning::targets`], and at a start it is read back and planned again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mesh_bus::authority::Clock;
use mesh_bus::bucket::BucketError;
use mesh_bus::kv::KvError;
use mesh_bus::seat::Tenure;
use mesh_bus::verb::VerbError;
use mesh_bus::{Account, Bucket, Kv};
pub(crate) use mesh_model::causes::in_a_line as with_causes;
use mesh_model::name::{NodeName, SeatName};
use mesh_model::wire::{ApplyAnswer, ApplyAsk, Effect, Listed, Listing, PlanRecord, Timestamp};
use mesh_plan::{Catalog, Description, Facts, FileEntry, Outcome, Plan, description};
use thiserror::Error;
use tokio::sync::{Mutex, watch};

use crate::contents::{Contents, ContentsError};
use crate::roster::Roster;

mod again;
mod answer;
mod sweep;

/// The key of the plan in effect.
const CURRENT: &str = "current";

/// Why the plan in effect cannot be worked with.
#[derive(Debug, Error)]
pub enum PlanningError {
    /// The bus refused or did not answer.
    #[error("cannot read the plan in effect")]
    Kv(#[from] KvError),
    /// A content could not be read.
    #[error("cannot read the description of the plan in effect")]
    Contents(#[from] ContentsError),
    /// What is not needed could not be swept out.
    #[error("cannot sweep out what no plan needs")]
    Sweep(#[from] BucketError),
    /// What stands there cannot be read.
    #[error("{key} of {} cannot be read", Bucket::plan())]
    Shape {
        /// The key.
        key: String,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
    /// A content of the plan in effect is gone.
    #[error("{what} of the plan in effect is not in {}", Bucket::files())]
    Gone {
        /// What is gone: a path, or the listing.
        what: String,
    },
    /// This program refuses what is in effect.
    #[error("the plan in effect is refused by this program: {first}")]
    Refused {
        /// The first refusal.
        first: String,
    },
}

/// The plan in effect, for the mirror.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// The plan; none where none is in effect, or where it cannot be worked with.
    pub plan: Option<Arc<Plan>>,
    /// How it is kept.
    pub record: Option<PlanRecord>,
    /// Why it cannot be worked with: what was mirrored before is left as it is.
    pub why: Option<String>,
}

/// What is known of the plan in effect.
struct InEffect {
    record: PlanRecord,
    revision: u64,
    /// What it was planned from, and what came of it.
    planned: Option<(Description, Arc<Plan>)>,
}

/// Where descriptions become plans, one at a time.
pub struct Planning {
    contents: Arc<Contents>,
    roster: Arc<Roster>,
    kv: Kv,
    catalog: Catalog,
    clock: Clock,
    current: Mutex<Option<InEffect>>,
    seats: watch::Sender<BTreeMap<SeatName, NodeName>>,
    targets: watch::Sender<Target>,
}

impl std::fmt::Debug for Planning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planning").finish_non_exhaustive()
    }
}

impl Planning {
    /// Nothing is read yet: see [`Planning::load`].
    #[must_use]
    pub fn new(
        tenure: &Tenure,
        contents: Arc<Contents>,
        roster: Arc<Roster>,
        catalog: Catalog,
        clock: Clock,
    ) -> Self {
        Self {
            contents,
            roster,
            kv: tenure.kv(Bucket::plan()),
            catalog,
            clock,
            current: Mutex::default(),
            seats: watch::channel(BTreeMap::new()).0,
            targets: watch::channel(Target::default()).0,
        }
    }

    /// The plan in effect, as it changes.
    #[must_use]
    pub fn targets(&self) -> watch::Receiver<Target> {
        self.targets.subscribe()
    }

    /// Hands the plan in effect to the mirror.
    fn tell(&self, in_effect: &InEffect, why: Option<String>) {
        let plan = in_effect.planned.as_ref().map(|(_, plan)| Arc::clone(plan));
        self.targets.send_replace(Target { plan, record: Some(in_effect.record.clone()), why });
    }

    /// A listing with its texts; beside it the paths whose texts are not there.
    async fn describe(&self, listing: &Listing) -> Result<(Description, Vec<String>), ContentsError> {
        let mut description = Description { shipped: listing.shipped.clone(), ..Description::default() };
        let mut missing = Vec::new();
        for (path, listed) in &listing.files {
            let entry = FileEntry { digest: listed.digest.clone(), size: listed.size };
            description.files.insert(path.clone(), entry);
            if description::limit(path).is_some_and(|limit| listed.size <= limit) {
                match self.contents.read_text(listed).await? {
                    Some(text) => drop(description.texts.insert(path.clone(), text.to_vec())),
                    None => missing.push(path.clone()),
                }
            }
        }
        for path in description.texts_to_read() {
            match self.contents.read_text(&listing.files[&path]).await? {
                Some(text) => drop(description.texts.insert(path, text.to_vec())),
                None => missing.push(path),
            }
        }
        Ok((description, missing))
    }

    /// What a description would come to.
    ///
    /// # Errors
    /// `missing-files` where its texts were not handed over; `unavailable` where the bus does not answer.
    pub async fn plan(&self, ask: &ApplyAsk) -> Result<ApplyAnswer, VerbError> {
        let (description, missing) = self.describe(&ask.description).await.map_err(answer::unavailable)?;
        answer::all_there(&missing)?;
        let current = self.current.lock().await;
        let outcome = self.outcome(&description, current.as_ref()).await;
        Ok(answer::of(&outcome, current.as_ref(), Effect::Planned))
    }

    /// Lets a description take effect, as handed over by somebody whom the bus has checked.
    ///
    /// # Errors
    /// `missing-files` where its files were not handed over; `moved-on` where another plan than the one that the
    /// operator saw is in effect; `unavailable` where the bus does not answer.
    pub async fn apply(&self, by: &Account, ask: &ApplyAsk) -> Result<ApplyAnswer, VerbError> {
        let files = &ask.description.files;
        let (description, missing) = self.describe(&ask.description).await.map_err(answer::unavailable)?;
        answer::all_there(&missing)?;
        let wanted = description.files_to_hand_over();
        let wanted: Vec<(&String, &Listed)> =
            files.iter().filter(|(path, _)| wanted.contains(*path)).collect();
        let contents: Vec<&Listed> = wanted.iter().map(|(_, listed)| *listed).collect();
        let missing = self.contents.missing(contents).await.map_err(answer::unavailable)?;
        let paths = wanted.iter().filter(|(_, listed)| missing.contains(&listed.digest));
        answer::all_there(&paths.map(|(path, _)| (*path).clone()).collect::<Vec<_>>())?;

        let mut current = self.current.lock().await;
        let outcome = self.outcome(&description, current.as_ref()).await;
        let Some(plan) = &outcome.plan else {
            return Ok(answer::of(&outcome, current.as_ref(), Effect::Refused));
        };
        let in_effect = current.as_ref().map(|current| &current.record.id);
        if in_effect == Some(&plan.id) {
            return Ok(answer::of(&outcome, current.as_ref(), Effect::Unchanged));
        }
        if let Some(current) =
            current.as_ref().filter(|current| ask.follows.as_ref() != Some(&current.record.id))
        {
            return Err(answer::moved_on(&current.record));
        }
        let by = said(by);
        let record = plan.record(&by, Timestamp::new((self.clock)()));
        let answer = answer::of(&outcome, current.as_ref(), Effect::Applied);
        self.keep_listing(&ask.description, &record).await.map_err(answer::unavailable)?;
        let revision = self.take_effect(&mut current, &record).await?;
        tracing::info!(plan = record.id.short(), by, "a plan took effect");
        let plan = Arc::new(plan.clone());
        let in_effect = InEffect { record, revision, planned: Some((description, plan)) };
        self.tell(&in_effect, None);
        let texts = files.values().map(|listed| &listed.digest).collect();
        self.contents.forget_texts_but(&texts);
        *current = Some(in_effect);
        Ok(answer)
    }

    /// The moment at which a plan takes effect; returns its revision.
    async fn take_effect(
        &self,
        current: &mut Option<InEffect>,
        record: &PlanRecord,
    ) -> Result<u64, VerbError> {
        let bytes = serde_json::to_vec(record).expect("plain data serializes");
        let written = match current.as_ref() {
            Some(current) => self.kv.update(CURRENT, bytes, current.revision).await,
            None => self.kv.create(CURRENT, bytes).await,
        };
        match written {
            Ok(revision) => Ok(revision),
            // What was not acknowledged may have been done all the same.
            Err(KvError::Conflict { .. } | KvError::Unknown { .. }) => {
                let now = self.read_current().await.map_err(answer::unavailable)?;
                let Some(mut now) = now else { return Err(answer::not_done()) };
                if now.record == *record {
                    return Ok(now.revision);
                }
                let refusal = answer::moved_on(&now.record);
                let revision = current.as_ref().map(|current| current.revision);
                if Some(now.revision) == revision {
                    return Err(answer::not_done());
                }
                let planned = self.plan_again(&mut now).await;
                self.tell(&now, planned.err().map(|error| with_causes(&error)));
                *current = Some(now);
                Err(refusal)
            }
            Err(error) => Err(answer::unavailable(error)),
        }
    }

    /// Plans with what is known of the machines. Which ports are held is asked of each node's address, and those stand
    /// in the plan: so where a plan changes anything it is planned a second time.
    async fn outcome(&self, description: &Description, current: Option<&InEffect>) -> Outcome {
        let record = current.map(|current| &current.record);
        let nodes = self.roster.nodes().await;
        let told = nodes.iter().filter_map(|(name, node)| Some((name, node.facts.as_ref()?)));
        let told: BTreeMap<_, _> = told.collect();
        let mut roots = record.map(|record| record.roots.clone()).unwrap_or_default();
        roots.extend(told.iter().map(|(name, facts)| ((*name).clone(), facts.root.clone())));
        let held = record.map(|record| record.held.clone()).unwrap_or_default();
        let mut facts = Facts { roots, held, seats: self.seats.borrow().clone() };
        let first = mesh_plan::plan(description, &self.catalog, record, &facts);
        let Some(plan) = &first.plan else { return first };
        if record.is_some_and(|record| record.id == plan.id) {
            return first;
        }
        let mut held: BTreeMap<String, BTreeSet<u16>> = BTreeMap::new();
        for (name, address) in &plan.nodes {
            let (Some(facts), Some(address)) = (told.get(name), address) else { continue };
            held.entry(address.clone()).or_default().extend(facts.held.values().flatten());
        }
        if held == facts.held {
            return first;
        }
        facts.held = held;
        mesh_plan::plan(description, &self.catalog, record, &facts)
    }

    /// The nodes of the plan in effect.
    pub fn planned_nodes(&self) -> BTreeSet<NodeName> {
        let target = self.targets.borrow();
        target.plan.iter().flat_map(|plan| plan.nodes.keys().cloned()).collect()
    }
}

/// Who it was, as the plan says it: an operator by name.
fn said(by: &Account) -> String {
    match by {
        Account::Operator(name) => name.to_string(),
        other => other.to_string(),
    }
}

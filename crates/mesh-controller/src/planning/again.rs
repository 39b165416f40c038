//! Planning again what is in effect: at a start, and when a seat changes hands.
//!
//! The listing of the description is a content like any other; `mesh-controller_plan` has, under the description's
//! digest, where it is. Both are written before the plan takes effect, so that none is ever in effect without.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use mesh_bus::kv::Entry;
use mesh_bus::verb::VerbError;
use mesh_model::digest::Digest;
use mesh_model::name::{NodeName, SeatName};
use mesh_model::wire::{Listed, Listing, PlanRecord, Timestamp, V1};
use mesh_plan::{Description, Facts};
use serde::{Deserialize, Serialize};

use super::{CURRENT, InEffect, Planning, PlanningError, with_causes};

/// Where the listing of a description is.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pointer {
    v: V1,
    pub(super) listing: Listed,
}

impl PlanningError {
    /// Whether it may be otherwise when it is tried again.
    fn is_passing(&self) -> bool {
        matches!(self, Self::Kv(_) | Self::Contents(_))
    }
}

impl Planning {
    /// Reads the plan in effect, and plans its description again.
    ///
    /// # Errors
    /// Where the bus does not answer, or the record cannot be read. What is wrong with its description is told in the
    /// target.
    pub async fn load(&self) -> Result<(), PlanningError> {
        let mut current = self.current.lock().await;
        *current = self.read_current().await?;
        let Some(in_effect) = current.as_mut() else { return Ok(()) };
        let why = match self.plan_again(in_effect).await {
            Ok(()) => None,
            Err(error) if error.is_passing() => return Err(error),
            Err(error) => Some(with_causes(&error)),
        };
        self.tell(in_effect, why);
        Ok(())
    }

    /// The seats are held by these nodes from now on: what the plan in effect says of them is planned again.
    pub async fn note_seats(&self, seats: BTreeMap<SeatName, NodeName>) {
        let mut current = self.current.lock().await;
        if !self.seats.send_if_modified(|held| std::mem::replace(held, seats.clone()) != seats) {
            return;
        }
        let Some(in_effect) = current.as_mut() else { return };
        match self.plan_again(in_effect).await {
            Ok(()) => self.tell(in_effect, None),
            Err(error) => {
                tracing::error!(error = with_causes(&error), "the plan in effect cannot be planned again");
            }
        }
    }

    /// A node has told of itself. Where its folder is another than the plan in effect says, as it is for one that joins after it
    /// was planned, what is in effect is planned with that and takes effect again.
    ///
    /// # Errors
    /// Where the bus does not answer, or somebody else's plan has taken effect meanwhile.
    pub async fn note_machines(&self) -> Result<(), VerbError> {
        let mut current = self.current.lock().await;
        let Some(in_effect) = current.as_ref() else { return Ok(()) };
        let Some((description, plan)) = &in_effect.planned else { return Ok(()) };
        let mut roots = in_effect.record.roots.clone();
        for (name, node) in self.roster.nodes().await {
            if let Some(facts) = node.facts.filter(|_| plan.nodes.contains_key(&name)) {
                roots.insert(name, facts.root);
            }
        }
        if roots == in_effect.record.roots {
            return Ok(());
        }
        let (held, seats) = (in_effect.record.held.clone(), self.seats.borrow().clone());
        let facts = Facts { roots, held, seats };
        let outcome = mesh_plan::plan(description, &self.catalog, Some(&in_effect.record), &facts);
        let Some(plan) = outcome.plan.filter(|plan| plan.id != in_effect.record.id) else { return Ok(()) };
        let (description, by) = (description.clone(), in_effect.record.by.clone());
        let record = plan.record(&by, Timestamp::new((self.clock)()));
        let revision = self.take_effect(&mut current, &record).await?;
        tracing::info!(
            plan = record.id.short(),
            "the plan in effect was planned again, with where nodes keep things"
        );
        let in_effect = InEffect { record, revision, planned: Some((description, Arc::new(plan))) };
        self.tell(&in_effect, None);
        *current = Some(in_effect);
        Ok(())
    }

    pub(super) async fn read_current(&self) -> Result<Option<InEffect>, PlanningError> {
        let Some(Entry { revision, value }) = self.kv.latest(CURRENT).await? else { return Ok(None) };
        let record = serde_json::from_slice(&value)
            .map_err(|source| PlanningError::Shape { key: CURRENT.to_owned(), source })?;
        Ok(Some(InEffect { record, revision, planned: None }))
    }

    /// Plans what is in effect, with what was known then and the seats as they are now.
    pub(super) async fn plan_again(&self, in_effect: &mut InEffect) -> Result<(), PlanningError> {
        let record = &in_effect.record;
        let description = match &in_effect.planned {
            Some((description, _)) => description.clone(),
            None => self.describe_again(&record.description).await?,
        };
        let seats = self.seats.borrow().clone();
        let facts = Facts { roots: record.roots.clone(), held: record.held.clone(), seats };
        let outcome = mesh_plan::plan(&description, &self.catalog, Some(record), &facts);
        let Some(plan) = outcome.plan else {
            let first =
                outcome.refusals.first().map(|refusal| format!("{}: {}", refusal.code, refusal.message));
            return Err(PlanningError::Refused { first: first.unwrap_or_default() });
        };
        in_effect.planned = Some((description, Arc::new(plan)));
        Ok(())
    }

    async fn describe_again(&self, digest: &Digest) -> Result<Description, PlanningError> {
        let gone = |what: &str| PlanningError::Gone { what: what.to_owned() };
        let pointer = self.pointer(digest).await?.ok_or_else(|| gone("the listing"))?;
        let listing = self.contents.read(&pointer.listing).await?.ok_or_else(|| gone("the listing"))?;
        let key = || pointer.listing.digest.to_string();
        let listing: Listing =
            serde_json::from_slice(&listing).map_err(|source| PlanningError::Shape { key: key(), source })?;
        let (description, missing) = self.describe(&listing).await?;
        match missing.first() {
            Some(path) => Err(gone(path)),
            None => Ok(description),
        }
    }

    pub(super) async fn pointer(&self, description: &Digest) -> Result<Option<Pointer>, PlanningError> {
        let Some(entry) = self.kv.get(description).await? else { return Ok(None) };
        let pointer = serde_json::from_slice(&entry.value);
        pointer.map(Some).map_err(|source| PlanningError::Shape { key: description.to_string(), source })
    }

    /// Keeps what a start will plan again from.
    pub(super) async fn keep_listing(
        &self,
        listing: &Listing,
        record: &PlanRecord,
    ) -> Result<(), PlanningError> {
        let bytes: Bytes = serde_json::to_vec(listing).expect("plain data serializes").into();
        let listing = Listed { digest: Digest::of(&bytes), size: bytes.len() as u64 };
        let pointer = serde_json::to_vec(&Pointer { v: V1, listing }).expect("plain data serializes");
        let keep = async { self.contents.keep(&bytes).await.map_err(PlanningError::from) };
        let point = async { self.kv.put(&record.description, pointer).await.map_err(PlanningError::from) };
        tokio::try_join!(keep, point).map(drop)
    }
}

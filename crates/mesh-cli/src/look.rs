//! Looks at the mesh over the bus: asks the controller and the provisioner, and reads what is assigned.
//!
//! What is assigned is read again only when the plan has moved on: it is as long as the mesh is large.

use std::collections::BTreeMap;

use mesh_bus::kv::Entry;
use mesh_bus::verb::ask;
use mesh_bus::{Bucket, Bus, Kv};
use mesh_model::digest::Digest;
use mesh_model::key::ModuleKey;
use mesh_model::wire::{Applied, ProvisioningAsk, StatusAnswer, What};
use serde::Deserialize;

use crate::exit::{Exit, Failure};
use crate::provisioning;
use crate::rotation::rotations;
use crate::status::{Assigned, Placed, Status};

/// Somebody who looks again and again.
#[derive(Debug)]
pub(crate) struct Looker {
    bus: Bus,
    /// What was assigned when a plan was in effect and the buckets said so.
    known: Option<(Digest, Assigned)>,
}

impl Looker {
    /// Over this connection.
    pub(crate) fn new(bus: &Bus) -> Self {
        Self { bus: bus.clone(), known: None }
    }

    /// How the mesh stands now.
    pub(crate) async fn look(&mut self) -> Result<Status, Failure> {
        let controller: StatusAnswer =
            ask(&self.bus, "mesh-controller.status", &serde_json::json!({})).await?;
        let question = ProvisioningAsk { what: What::Applied, ..ProvisioningAsk::default() };
        let applied = provisioning::whole(&self.bus, question).await?.entries;
        // One that this program cannot read counts as not told, and so as not taken up.
        let applied = applied.iter().filter_map(|entry| Applied::deserialize(entry).ok()).collect();
        let assigned = self.assigned(&controller).await?;
        let rotations = rotations(&self.bus).await.ok();
        Ok(Status::of(controller, &assigned, applied).with_rotations(rotations))
    }

    async fn assigned(&mut self, controller: &StatusAnswer) -> Result<Assigned, Failure> {
        let plan = controller.plan.as_ref().map(|plan| &plan.id);
        if let (Some((known, assigned)), Some(plan)) = (&self.known, plan)
            && known == plan
        {
            return Ok(assigned.clone());
        }
        let assigned = assigned(&self.bus).await?;
        let known = plan.filter(|_| controller.in_step);
        self.known = known.map(|plan| (plan.clone(), assigned.clone()));
        Ok(assigned)
    }
}

/// What is told of all assignments. One that cannot be read counts as one that no node has taken up.
async fn assigned(bus: &Bus) -> Result<Assigned, Failure> {
    let all = whole(bus, &Bucket::assignments()).await?;
    let placed = |(key, entry): (String, Entry)| {
        let place: ModuleKey = key.parse().ok()?;
        let unread = || Placed { digest: Digest::of(&entry.value), ports: BTreeMap::new() };
        Some((place, serde_json::from_slice(&entry.value).unwrap_or_else(|_| unread())))
    };
    Ok(all.into_iter().filter_map(placed).collect())
}

/// All that a bucket holds, read once.
pub(crate) async fn whole(bus: &Bus, bucket: &Bucket) -> Result<BTreeMap<String, Entry>, Failure> {
    let read = Kv::new(bus, bucket.clone()).whole().await;
    read.map_err(|error| Failure::new(error).exit(Exit::Unreachable))
}

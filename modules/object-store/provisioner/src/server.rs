//! SeaweedFS as [`mesh_provider`]'s server: observe, plan, apply.

use mesh_provider::{Consumers, Replies, Server};

use crate::apply::{Applying, Proved, Reached};
use crate::desire::Desired;
use crate::plan::plan;
use crate::world::{Address, Seaweed, World, WorldError};

/// The store, and what is known of it from pass to pass.
pub(crate) struct ObjectStore {
    address: Address,
    reached: Reached,
    connected: Option<(Seaweed, Proved)>,
}

impl ObjectStore {
    pub(crate) fn new(address: Address, reached: Reached) -> Self {
        Self { address, reached, connected: None }
    }

    async fn pass(&mut self, desired: &Desired, replies: &Replies) -> Result<(), WorldError> {
        if self.connected.is_none() {
            self.connected = Some((Seaweed::connect(&self.address).await?, Proved::default()));
        }
        let (world, proved) = self.connected.as_mut().expect("it was connected just now");
        let observed = world.observe(desired.buckets.keys()).await?;
        let plan = plan(desired, &observed);
        let applying = Applying { world: &*world, desired, reached: &self.reached, replies };
        applying.run(plan, proved).await
    }
}

impl Server for ObjectStore {
    type Error = WorldError;

    async fn accept(&mut self, wanted: &Consumers, replies: &Replies) -> Result<(), WorldError> {
        let done = self.pass(&Desired::of(wanted), replies).await;
        if done.is_err() {
            // One that comes back may have come back from a backup: everything is proved anew.
            self.connected = None;
        }
        done
    }
}

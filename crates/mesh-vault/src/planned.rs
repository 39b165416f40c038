//! What the plan in effect says to the vault: the escrow recipients that it names.
//!
//! A plan takes effect before anything is assigned by it, so whenever assignments have changed it is read anew: else a
//! secret could be made with the recipients of the plan before.

use std::collections::BTreeSet;

use mesh_bus::account::Usage;
use mesh_bus::kv::{Entry, KvError};
use mesh_bus::mirror::Entries;
use mesh_bus::{Bucket, Bus, Kv, Mirror};
use mesh_model::wire::V1;
use mesh_seal::Recipient;
use serde::Deserialize;

/// The key of the plan in effect.
const CURRENT: &str = "current";

/// All that is read of a plan.
#[derive(Debug, Deserialize)]
struct Named {
    #[serde(rename = "v")]
    _v: V1,
    #[serde(default)]
    escrow: Vec<String>,
}

/// The plan in effect, as far as it is read here.
pub(crate) struct Planned {
    mirror: Mirror,
    kv: Kv,
    assigned: Option<u64>,
    revision: u64,
    escrow: Option<BTreeSet<Recipient>>,
}

impl Planned {
    pub(crate) fn open(bus: &Bus) -> Self {
        let mirror = Mirror::open(bus, Bucket::plan(), CURRENT, Usage::read());
        Self { mirror, kv: Kv::new(bus, Bucket::plan()), assigned: None, revision: 0, escrow: None }
    }

    pub(crate) async fn ready(&self) {
        self.mirror.ready().await;
    }

    pub(crate) async fn changed(&mut self) {
        self.mirror.changed().await;
    }

    /// The recipients that are named, by a plan no older than these assignments; none where no plan could be read yet.
    pub(crate) async fn escrow(
        &mut self,
        assignments: &Entries,
    ) -> Result<Option<BTreeSet<Recipient>>, KvError> {
        let newest = assignments.values().map(|entry| entry.revision).max();
        if newest > self.assigned {
            if let Some(entry) = self.kv.latest(CURRENT).await? {
                self.take(&entry);
            }
            self.assigned = newest;
        }
        if let Some(entry) = self.mirror.snapshot().get(CURRENT) {
            self.take(entry);
        }
        Ok(self.escrow.clone())
    }

    /// A plan that cannot be read leaves what the one before said.
    fn take(&mut self, entry: &Entry) {
        if entry.revision <= self.revision {
            return;
        }
        self.revision = entry.revision;
        match serde_json::from_slice::<Named>(&entry.value) {
            Ok(named) => self.escrow = Some(recipients(&named.escrow)),
            Err(error) => {
                tracing::warn!(%error, "the plan in effect cannot be read; the escrow recipients stay as they were");
            }
        }
    }
}

fn recipients(texts: &[String]) -> BTreeSet<Recipient> {
    let read = |text: &String| {
        let read = text.parse();
        read.inspect_err(|_| tracing::warn!("an escrow recipient of the plan is no key, and left out")).ok()
    };
    texts.iter().filter_map(read).collect()
}

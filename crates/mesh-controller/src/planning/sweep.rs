//! What no plan needs any more is swept out at a start: contents of files, and listings of former descriptions.
//!
//! At a start alone, before the verbs answer: what an operator has begun to hand over to a former process is swept too,
//! and handed over again. Where the plan in effect cannot be worked with, nothing is.

use std::collections::BTreeSet;

use mesh_bus::seat::Tenure;
use mesh_bus::{Bucket, bucket};

use super::{CURRENT, Planning, PlanningError};

impl Planning {
    /// Sweeps; returns how many keys went.
    ///
    /// # Errors
    /// Where the bus refuses or does not answer.
    pub async fn sweep(&self, tenure: &Tenure) -> Result<usize, PlanningError> {
        let current = self.current.lock().await;
        let Some(in_effect) = current.as_ref() else { return Ok(0) };
        let Some((description, plan)) = &in_effect.planned else { return Ok(0) };
        let Some(pointer) = self.pointer(&in_effect.record.description).await? else { return Ok(0) };
        let files = description.files.values().map(|file| &file.digest);
        let wanted: BTreeSet<&str> = files
            .chain(plan.contents.keys())
            .chain([&pointer.listing.digest])
            .map(|digest| digest.as_str())
            .collect();
        let is_wanted = |key: &str| key.split('.').next().is_some_and(|digest| wanted.contains(digest));
        let kept = [CURRENT, in_effect.record.description.as_str()];
        let swept = keep_only(tenure, &Bucket::files(), is_wanted).await?;
        Ok(swept + keep_only(tenure, &Bucket::plan(), |key| kept.contains(&key)).await?)
    }
}

async fn keep_only(
    tenure: &Tenure,
    bucket: &Bucket,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<usize, PlanningError> {
    let (bus, kv) = (tenure.bus(), tenure.kv(bucket.clone()));
    let keys = bucket::keys(bus, bucket).await?;
    let gone: Vec<&String> = keys.iter().filter(|key| !is_wanted(key)).collect();
    for key in &gone {
        let deleted = kv.delete(key).await?;
        bucket::purge(bus, bucket, key, deleted).await?;
    }
    Ok(gone.len())
}

//! Writes what others may notice into its bucket: only where it differs, and what is gone is deleted.

use std::collections::BTreeMap;

use mesh_bus::Kv;
use mesh_bus::kv::{Entry, KvError};
use serde_json::Value;

/// The bucket as it should be, and what was last written into it.
pub(crate) struct Publisher {
    kv: Kv,
    /// What the bucket does not show yet: the revision of our last write of a key, and what it was.
    written: BTreeMap<String, (u64, Vec<u8>)>,
}

impl Publisher {
    pub(crate) fn new(kv: Kv) -> Self {
        Self { kv, written: BTreeMap::new() }
    }

    /// Makes the bucket say exactly this. Returns how many keys it wrote.
    pub(crate) async fn publish(
        &mut self,
        records: &BTreeMap<String, Value>,
        bucket: &BTreeMap<String, Entry>,
    ) -> Result<usize, KvError> {
        let desired = records.iter().map(|(key, record)| (key.clone(), record.to_string().into_bytes()));
        let desired: BTreeMap<_, _> = desired.collect();
        self.written
            .retain(|key, (revision, _)| bucket.get(key).is_none_or(|entry| entry.revision < *revision));
        let mut writes = 0;
        for (key, value) in &desired {
            if self.held(key, bucket) != Some(value.as_slice()) {
                let revision = self.kv.put(key, value.clone()).await?;
                self.written.insert(key.clone(), (revision, value.clone()));
                writes += 1;
            }
        }
        for key in bucket.keys().filter(|key| !desired.contains_key(*key)) {
            self.kv.delete(key).await?;
            self.written.remove(key);
            writes += 1;
        }
        self.written.retain(|key, _| desired.contains_key(key));
        Ok(writes)
    }

    /// What a key holds by all that we know: the bucket as it was seen, or what we wrote since.
    fn held<'a>(&'a self, key: &str, bucket: &'a BTreeMap<String, Entry>) -> Option<&'a [u8]> {
        match self.written.get(key) {
            Some((_, value)) => Some(value),
            None => bucket.get(key).map(|entry| entry.value.as_ref()),
        }
    }
}

//! The buckets of a mesh that runs, read as its operator, and written as somebody who should not.

use std::collections::BTreeMap;

use mesh_bus::{Authority, Bucket, Bus, Creds, FirstTry, Kv};
use serde_json::Value;
use time::OffsetDateTime;
use tokio::runtime::Runtime;

use crate::quickstart::home::Home;

/// A connection as the mesh's operator.
pub(crate) struct Buckets {
    runtime: Runtime,
    bus: Bus,
}

impl Home {
    /// Its buckets.
    pub(crate) fn buckets(&self) -> Buckets {
        let creds = std::fs::read_to_string(self.state().join("operator.creds")).unwrap();
        Buckets::open(self, &Creds::from_text(&creds).unwrap())
    }

    /// Its buckets, as whoever has the keys in the state folder can have them.
    pub(crate) fn as_anybody(&self) -> Buckets {
        let authority = Authority::open(&self.state().join("keys"), OffsetDateTime::now_utc).unwrap();
        Buckets::open(self, &authority.creds_for_all())
    }

    /// Where its bus is.
    pub(crate) fn url(&self) -> String {
        let file = std::fs::read(self.state().join("bus.json")).unwrap();
        let file: Value = serde_json::from_slice(&file).unwrap();
        file["urls"][0].as_str().unwrap().to_owned()
    }
}

impl Buckets {
    fn open(home: &Home, creds: &Creds) -> Self {
        let runtime = Runtime::new().unwrap();
        let bus = runtime.block_on(Bus::connect(&home.url(), creds, FirstTry::Fails)).unwrap();
        Self { runtime, bus }
    }

    /// A value.
    pub(crate) fn value(&self, bucket: &str, key: &str) -> Value {
        let entry = self.runtime.block_on(Kv::new(&self.bus, named(bucket)).get(key)).unwrap();
        let entry = entry.unwrap_or_else(|| panic!("{bucket} has no {key}"));
        serde_json::from_slice(&entry.value).unwrap()
    }

    /// The revision of a key.
    pub(crate) fn revision(&self, bucket: &str, key: &str) -> u64 {
        let entry = self.runtime.block_on(Kv::new(&self.bus, named(bucket)).get(key)).unwrap();
        entry.unwrap().revision
    }

    /// Writes a key.
    pub(crate) fn put(&self, bucket: &str, key: &str, value: String) {
        self.runtime.block_on(Kv::new(&self.bus, named(bucket)).put(key, value)).unwrap();
    }

    /// All that a bucket holds.
    pub(crate) fn whole(&self, bucket: &str) -> BTreeMap<String, Vec<u8>> {
        self.runtime.block_on(async {
            let held = Kv::new(&self.bus, named(bucket)).whole().await.unwrap();
            held.into_iter().map(|(key, entry)| (key, entry.value.to_vec())).collect()
        })
    }
}

fn named(bucket: &str) -> Bucket {
    Bucket::named(bucket).unwrap_or_else(|| panic!("there is no bucket {bucket}"))
}

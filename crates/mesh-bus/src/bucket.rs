//! The buckets of the bus, and their settings, as data.
//!
//! Start at [`Bucket::fixed`]; `<provider>_bound` buckets come and go with the plan, so the controller makes
//! each with [`ensure`] when a provider first appears. Every bucket keeps one value a key, has an end
//! ([`Bucket::max_bytes`]), refuses what would go over it, and never rolls up: a node that may write one key
//! could otherwise erase all of them with a header.

use std::fmt;

use mesh_model::name::ModuleName;
use serde_json::{Value, json};
use thiserror::Error;

use crate::client::{Bus, RequestError};

mod survey;

pub(crate) use survey::{Latest, latest};
pub use survey::{bound, keys, purge};

/// The longest value, in bytes.
pub const MAX_VALUE: usize = 512 * 1024;

const MIB: i64 = 1024 * 1024;

/// A key-value bucket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket {
    name: String,
    max_bytes: i64,
    written_by: Writers,
}

/// Whose writes a bucket takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Writers {
    /// One seat's alone: many at a time, each behind the seat's fence.
    ASeat,
    /// Nodes'. The controller prunes what no plan knows, behind its fence.
    Nodes,
    /// Those of whoever holds a seat, or wants it: the lease is what every fence follows from.
    Holders,
}

macro_rules! buckets {
    ($($(#[$doc:meta])* $function:ident = $name:literal, $mib:literal MiB, $writers:ident;)+) => {
        impl Bucket {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $function() -> Self {
                    Self { name: $name.to_owned(), max_bytes: $mib * MIB, written_by: Writers::$writers }
                }
            )+

            /// The buckets that every mesh has, whatever runs on it.
            #[must_use]
            pub fn fixed() -> Vec<Self> {
                vec![$(Self::$function()),+]
            }
        }
    };
}

buckets! {
    /// Which domain answers which kind: `<kind>`.
    registry = "mesh-provisioner_registry", 1 MiB, ASeat;
    /// What is needed, and whether it is met: `<node>.<module>.<kind>.<name>`.
    needs = "mesh-provisioner_needs", 256 MiB, Nodes;
    /// What a node has rendered and started: `<node>.<module>`.
    applied = "mesh-provisioner_applied", 256 MiB, Nodes;
    /// The items of collections: `<node>.<collection>.<contributor>`.
    collect = "mesh-provisioner_collect", 256 MiB, Nodes;
    /// What a node is to run: `<node>.<module>`.
    assignments = "mesh-controller_assignments", 1024 MiB, ASeat;
    /// Settings: `<node>.<module>`.
    config = "mesh-controller_config", 256 MiB, ASeat;
    /// The plan that holds: `current`.
    plan = "mesh-controller_plan", 16 MiB, ASeat;
    /// The contents of files: `<digest>.<part>`.
    files = "mesh-controller_files", 4096 MiB, ASeat;
    /// Who has joined, and who may: `node.<node>`, `operator.<operator>`, `invited.<account>`. The controller's alone.
    roster = "mesh-controller_roster", 64 MiB, ASeat;
    /// Which credentials there are, never what they say: `<node>.<module>.<entry>`.
    credentials = "mesh-vault_credentials", 256 MiB, ASeat;
    /// Who holds which seat: `<seat>`.
    seats = "mesh-seats", 1 MiB, Holders;
}

impl Bucket {
    /// What a provider answered its consumers: `<node>.<module>.<provision>[.<local>]`.
    #[must_use]
    pub fn bound(provider: &ModuleName) -> Self {
        Self { name: format!("{provider}_bound"), max_bytes: 256 * MIB, written_by: Writers::Nodes }
    }

    /// The bucket of this name, as the registry writes it, where it is one of ours.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name.strip_suffix("_bound") {
            Some(provider) => Some(Self::bound(&provider.parse().ok()?)),
            None => Self::fixed().into_iter().find(|bucket| bucket.name == name),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How much it may hold, in bytes.
    #[must_use]
    pub fn max_bytes(&self) -> i64 {
        self.max_bytes
    }

    pub(crate) fn stream(&self) -> String {
        format!("KV_{}", self.name)
    }

    /// The subject of a key, or of a filter over keys.
    pub(crate) fn subject(&self, key: &str) -> String {
        format!("$KV.{}.{key}", self.name)
    }

    /// A subject of the stream that is no key: what is written there keeps a seat's former holder from writing.
    pub(crate) fn fence(&self, what: &str) -> String {
        format!("mesh-fence.{}.{what}", self.name)
    }

    /// Whether several messages may be written as one. Where nodes write, a batch that is begun and never ended would take up
    /// the server's room for everybody's.
    pub(crate) fn takes_batches(&self) -> bool {
        self.written_by == Writers::ASeat
    }

    fn settings(&self) -> Value {
        let fenced = self.written_by != Writers::Holders;
        let subjects = [Some(self.subject(">")), fenced.then(|| self.fence(">"))];
        json!({
            "name": self.stream(),
            "subjects": subjects.iter().flatten().collect::<Vec<_>>(),
            "retention": "limits",
            "max_consumers": -1,
            "max_msgs": -1,
            "max_bytes": self.max_bytes,
            "max_age": 0,
            "max_msgs_per_subject": 1,
            "max_msg_size": MAX_VALUE,
            "discard": "new",
            "storage": "file",
            "num_replicas": 1,
            "allow_rollup_hdrs": false,
            "deny_delete": true,
            "deny_purge": false,
            "allow_direct": true,
            "allow_atomic": self.takes_batches(),
        })
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Why a bucket could not be made, or surveyed.
#[derive(Debug, Error)]
pub enum BucketError {
    /// The server could not be asked.
    #[error("cannot see to the bucket {bucket}")]
    Ask {
        /// The bucket.
        bucket: String,
        /// Why not.
        #[source]
        source: RequestError,
    },
    /// The server refused.
    #[error("the server refused what was asked of the bucket {bucket}: {why}")]
    Refused {
        /// The bucket.
        bucket: String,
        /// In the server's words.
        why: String,
    },
}

/// A stream of this name is there with other settings.
const NAME_IN_USE: u64 = 10058;

/// Makes the buckets that are missing, and sets right those that have other settings. For users of `BUS`
/// alone.
///
/// # Errors
/// Where the server cannot be asked, or refuses.
pub async fn ensure(bus: &Bus, buckets: &[Bucket]) -> Result<(), BucketError> {
    for bucket in buckets {
        match call(bus, "CREATE", bucket).await? {
            Ok(()) => {}
            Err((NAME_IN_USE, _)) => {
                call(bus, "UPDATE", bucket).await?.map_err(|(_, why)| refused(bucket, why))?;
            }
            Err((_, why)) => return Err(refused(bucket, why)),
        }
    }
    Ok(())
}

pub(crate) fn refused(bucket: &Bucket, why: String) -> BucketError {
    BucketError::Refused { bucket: bucket.name.clone(), why }
}

async fn call(bus: &Bus, verb: &str, bucket: &Bucket) -> Result<Result<(), (u64, String)>, BucketError> {
    let subject = format!("{}.STREAM.{verb}.{}", bus.api(), bucket.stream());
    let answer = bus
        .request(subject, None, bucket.settings().to_string().into())
        .await
        .map_err(|source| BucketError::Ask { bucket: bucket.name.clone(), source })?;
    Ok(crate::client::api_error(&answer.payload).map_or(Ok(()), Err))
}

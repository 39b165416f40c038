//! What things are called inside the store: buckets as consumers ask, everything else as derived from who it is for.
//!
//! SeaweedFS knows *users*, each with keys and with what they may do. What is ours begins with `mesh.`, which no other
//! program should use: `mesh.user.<node>.<module>.<local>` is one consumer, and `mesh.bucket.<bucket>.<module>`, without
//! any key, says whose a bucket is. None of the parts can hold a dot, so no two can be one.

use std::fmt;

use data_encoding::BASE32_NOPAD;
use mesh_model::name::ModuleName;
use mesh_provider::ConsumerId;

/// What the names of our users begin with.
const USER: &str = "mesh.user.";
/// What the names of our marks begin with.
const MARK: &str = "mesh.bucket.";

/// The name of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BucketName(String);

/// The name of a user of ours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct UserName(String);

/// The public half of a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AccessKey(String);

impl BucketName {
    /// Takes a name as a consumer contributed it, or says why it cannot be one.
    pub(crate) fn contributed(name: &str) -> Result<Self, String> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = name.as_bytes();
        if !(3..=63).contains(&name.len()) {
            return Err(format!(
                "the name of a bucket has 3 to 63 characters, and `{name}` has {}",
                name.len()
            ));
        }
        if !bytes.iter().all(|&b| plain(b) || b == b'-') || bytes.starts_with(b"-") || bytes.ends_with(b"-") {
            return Err(format!("`{name}` is no name of a bucket: a-z, 0-9 and, between them, `-`"));
        }
        Ok(Self(name.to_owned()))
    }
}

impl UserName {
    /// The user that a consumer is.
    pub(crate) fn of(consumer: &ConsumerId) -> Self {
        Self(format!("{USER}{}.{}.{}", consumer.node, consumer.module, consumer.local))
    }

    /// The user, without keys, that says whose a bucket is.
    pub(crate) fn mark(bucket: &BucketName, module: &ModuleName) -> Self {
        Self(format!("{MARK}{bucket}.{module}"))
    }

    /// A name that the store has, where it is one of ours.
    pub(crate) fn ours(name: &str) -> Option<Self> {
        (name.starts_with(USER) || name.starts_with(MARK)).then(|| Self(name.to_owned()))
    }

    /// Whose bucket this marks: the bucket and the module.
    pub(crate) fn marks(&self) -> Option<(BucketName, ModuleName)> {
        let (bucket, module) = self.0.strip_prefix(MARK)?.split_once('.')?;
        Some((BucketName::contributed(bucket).ok()?, module.parse().ok()?))
    }
}

impl AccessKey {
    /// The key of one credential of a consumer: the same whenever it is asked for.
    pub(crate) fn of(consumer: &ConsumerId, credential: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("mesh object-store 2026-12 access key");
        for part in [consumer.node.as_str(), consumer.module.as_str(), consumer.local.as_str(), credential] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        // As long as those of other S3 stores: some clients count.
        Self(BASE32_NOPAD.encode(hasher.finalize().as_bytes())[..20].to_owned())
    }

    /// Takes a key as the store has it.
    pub(crate) fn observed(key: String) -> Self {
        Self(key)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BucketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;

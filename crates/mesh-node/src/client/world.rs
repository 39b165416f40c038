//! What the client touches outside itself, as one small trait: the bus.
//!
//! The real one is in [`crate::bus`]; the logic above is tested with one in memory.

use std::future::Future;
use std::pin::Pin;

use mesh_model::digest::Digest;
use mesh_model::key::Entry;
use mesh_model::name::{ModuleName, ProvisionName};
use mesh_model::wire::ConsumerCredentials;
use mesh_seal::Sealed;
use serde_json::Value;

use super::inputs::{Asked, Offered};
use super::lookup::Keys;

/// A future of the world's.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The bus, as the client sees it.
pub trait World: Send + Sync {
    /// The values under the keys that a filter takes, as last seen or as written here since, in the order of their keys;
    /// none where they were never read yet, which is not the same as nothing there. A value that is no JSON is left out.
    fn values(&self, keys: &Keys) -> Option<Vec<(String, Value)>>;

    /// The credentials that are offered under one name.
    fn secret<'a>(
        &'a self,
        verb: &'a str,
        module: &'a ModuleName,
        entry: &'a Entry,
    ) -> Later<'a, Asked<Offered>>;

    /// The consumers of a provision that have a credential, all pages.
    fn consumers<'a>(
        &'a self,
        verb: &'a str,
        module: &'a ModuleName,
        provision: &'a ProvisionName,
    ) -> Later<'a, Asked<Vec<ConsumerCredentials<Sealed>>>>;

    /// The content of a file, whole and of this digest.
    fn content<'a>(&'a self, digest: &'a Digest, size: u64) -> Later<'a, Result<Vec<u8>, String>>;

    /// Writes a value under a key of this node, where it differs from what is there.
    fn put<'a>(&'a self, bucket: &'a str, key: &'a str, value: Value) -> Later<'a, Result<(), String>>;

    /// Removes a key of this node, where it is there.
    fn delete<'a>(&'a self, bucket: &'a str, key: &'a str) -> Later<'a, Result<(), String>>;
}

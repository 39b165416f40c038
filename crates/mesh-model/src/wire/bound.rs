//! `<provider-module>_bound`: what the provider answered one consumer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Timestamp, V1};
use crate::digest::Digest;
use crate::name::{FieldName, LocalName, ModuleName, NodeName, ProvisionName};

/// One answer. It counts while `by` and `revision` are those of the consumer's assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The version of this shape.
    pub v: V1,
    /// The consumer's node.
    pub node: NodeName,
    /// The consumer.
    pub module: ModuleName,
    /// What it needs.
    pub provision: ProvisionName,
    /// The consumer's own name for it.
    pub local: LocalName,
    /// The provider's node.
    pub by: NodeName,
    /// The revision of the contribution that this answers.
    pub revision: Digest,
    /// The fields that are no secret; absent where there is an error instead.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub values: Option<BTreeMap<FieldName, String>>,
    /// The id of the newest credential that has logged in; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub credential: Option<String>,
    /// Why a newer credential than that is not answered, where there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// Why the provider could not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// When this was answered.
    pub at: Timestamp,
}

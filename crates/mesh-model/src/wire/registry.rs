//! `mesh-provisioner_registry`: which domain answers a kind, and where a client finds its values.

use serde::{Deserialize, Serialize};

use super::V1;
use crate::kind::Kind;

/// Who answers a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// The version of this shape.
    pub v: V1,
    /// The kind.
    pub kind: Kind,
    /// The domain: a seat, or `<provider>` for whichever module provides.
    pub owner: String,
    /// Where its values are.
    #[serde(flatten)]
    pub source: Source,
}

/// Where a client finds the values of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Source {
    /// In a bucket.
    Bucket {
        /// The bucket; `<provider-module>` stands for the module that provides the need.
        bucket: String,
        /// The key, with `<node>`, `<module>`, `<provision>`, `<local>` and `<collection>` to be filled in, `*` for each
        /// token that may be any, and `[.…]` where it is left out when it says the same as the one before.
        key: String,
        /// The field of the value that holds what is asked for.
        field: String,
    },
    /// From a verb.
    Verb {
        /// The verb, asked as `<verb>.<node>`.
        verb: String,
    },
}

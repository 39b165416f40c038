//! How this provisioner knows again what it made: a comment on each role and each database.
//!
//! What decides is the comment on a *role*, since only a superuser can write one; a consumer owns its database through
//! the group and could write any comment on it. So the comment on a database is for people, and whose a database is
//! follows from the role that owns it. The provider's node is written down but not compared: data that was restored
//! on another node is still ours.

use mesh_model::name::{LocalName, ModuleName, NodeName, ProvisionName};
use mesh_provider::{ConsumerId, Consumers};
use serde::{Deserialize, Serialize};

use crate::name::DatabaseName;

/// What a comment of ours begins with.
const PREFIX: &str = "made by mesh: ";

/// Who makes: one provisioner of one provider.
#[derive(Debug, Clone)]
pub(crate) struct Maker {
    provision: ProvisionName,
    node: NodeName,
    module: ModuleName,
}

/// What a thing of ours is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Marker {
    /// The role that owns a module's database.
    Group {
        /// The consumers' module.
        module: ModuleName,
        /// Its database.
        database: String,
    },
    /// The role of one credential.
    Login {
        /// The consumer's node.
        node: NodeName,
        /// The consumer's module.
        module: ModuleName,
        /// The consumer's name for it.
        local: LocalName,
        /// The credential's id.
        credential: String,
    },
    /// A database.
    Database {
        /// The consumers' module.
        module: ModuleName,
    },
}

#[derive(Serialize, Deserialize)]
struct Comment {
    v: u64,
    provision: ProvisionName,
    node: NodeName,
    provider: ModuleName,
    #[serde(rename = "for")]
    marker: Marker,
}

impl Marker {
    pub(crate) fn group(module: &ModuleName, database: &DatabaseName) -> Self {
        Self::Group { module: module.clone(), database: database.as_str().to_owned() }
    }

    pub(crate) fn login(consumer: &ConsumerId, credential: &str) -> Self {
        let ConsumerId { node, module, local } = consumer.clone();
        Self::Login { node, module, local, credential: credential.to_owned() }
    }
}

impl Maker {
    pub(crate) fn of(wanted: &Consumers) -> Self {
        let provider = &wanted.provider;
        Self {
            provision: wanted.provision.clone(),
            node: provider.node.clone(),
            module: provider.module.clone(),
        }
    }

    /// The comment that marks a thing as made by us.
    pub(crate) fn comment(&self, marker: &Marker) -> String {
        let Self { provision, node, module } = self.clone();
        let comment = Comment { v: 1, provision, node, provider: module, marker: marker.clone() };
        let json = serde_json::to_string(&comment).expect("names and text are JSON");
        format!("{PREFIX}{json}")
    }

    /// What a comment marks a thing as, where it was we who wrote it.
    pub(crate) fn read(&self, comment: Option<&str>) -> Option<Marker> {
        let comment: Comment = serde_json::from_str(comment?.strip_prefix(PREFIX)?).ok()?;
        let ours = comment.v == 1 && comment.provision == self.provision && comment.provider == self.module;
        ours.then_some(comment.marker)
    }
}

#[cfg(test)]
mod tests;

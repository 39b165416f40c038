//! What was found where the registry said: the raw values that an assignment's placeholders are resolved from.
//!
//! Gathered anew at each pass. Sealed values stay sealed here, so that inputs may be kept on disk and a node boots
//! without the bus.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::key::Entry;
use mesh_model::kind::Kind;
use mesh_model::name::ProvisionName;
use mesh_model::placeholder::Reference;
use mesh_model::wire::{Assignment, Config, ConsumerCredentials, Delivered, Registration, Source};
use mesh_seal::Sealed;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lookup::{Ask, Keys, Lookup, LookupError, lookup};
use super::world::World;

/// What the registry says, by kind.
pub type Registry = BTreeMap<Kind, Registration>;

/// What was found for one assignment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Inputs {
    /// The registry's entries.
    pub registry: Registry,
    /// The values under the keys that were looked up, with the key of each.
    #[serde(with = "pairs")]
    pub buckets: BTreeMap<Keys, Vec<(String, Value)>>,
    /// The credentials that were asked for, or why there are none.
    pub credentials: BTreeMap<String, Asked<Offered>>,
    /// The consumers that were asked for.
    pub consumers: BTreeMap<ProvisionName, Asked<Vec<ConsumerCredentials<Sealed>>>>,
}

/// What the vault offers under one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    /// The newest last.
    pub credentials: Vec<Delivered<Sealed>>,
    /// The number of the offer, while one credential is being replaced by another: told back once it is taken up.
    pub turn: Option<u64>,
}

/// What a verb answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Asked<T> {
    /// This.
    Answer(T),
    /// Nothing yet: why.
    NotYet(String),
}

impl Inputs {
    /// Whether the settings that were found are those of another assignment: the two are written one after the other.
    #[must_use]
    pub fn is_between(&self, assignment: &Assignment) -> bool {
        let Some(Source::Bucket { bucket, .. }) = self.registry.get(&Kind::Config).map(|entry| &entry.source)
        else {
            return false;
        };
        let found = self.buckets.iter().filter(|(keys, _)| keys.bucket == *bucket);
        let mut settings =
            found.flat_map(|(_, records)| records).filter_map(|(_, record)| Config::deserialize(record).ok());
        settings.any(|settings| settings.digest() != assignment.settings)
    }

    /// Whether every verb has answered in full: of what a bucket lacks, a change will tell; of this, nobody.
    #[must_use]
    pub fn is_whole(&self, assignment: &Assignment) -> bool {
        let asked = self.credentials.values().all(|asked| matches!(asked, Asked::Answer(_)));
        let consumers = self.consumers.iter().all(|(provision, asked)| match asked {
            Asked::NotYet(_) => false,
            Asked::Answer(answered) => assignment
                .consumers
                .iter()
                .filter(|consumer| consumer.provision == *provision)
                .filter(|_| super::consumers::needs_credentials(assignment, provision))
                .all(|consumer| answered.iter().any(|one| one.is_of(consumer))),
        });
        asked && consumers
    }
}

/// Where a reference's values are found. A field of a need that is a secret is found where secrets are.
///
/// # Errors
/// Where nobody answers its kind, or the registration does not fit.
pub fn place(registry: &Registry, assignment: &Assignment, reference: &Reference) -> Result<Lookup, Nowhere> {
    let kind = reference.kind();
    let registration = registry.get(&kind).ok_or(Nowhere::Kind(kind))?;
    Ok(lookup(registration, assignment, reference)?)
}

/// Where the credential of a need, or a secret of the module's own, is asked for.
///
/// # Errors
/// As [`place`].
pub fn credential_place(
    registry: &Registry,
    assignment: &Assignment,
    entry: &Entry,
) -> Result<Lookup, Nowhere> {
    let registration = registry.get(&Kind::Secret).ok_or(Nowhere::Kind(Kind::Secret))?;
    let reference = match entry {
        Entry::Own(name) => Reference::Secret(name.clone()),
        Entry::Need(local) => {
            let need = assignment.needs.iter().find(|need| need.local == *local);
            let field = need.and_then(|need| need.gives.keys().next());
            let field = field.ok_or_else(|| LookupError::Need(local.to_string()))?;
            Reference::Bound(local.clone(), field.clone())
        }
    };
    Ok(lookup(registration, assignment, &reference)?)
}

/// Why a reference is found nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Nowhere {
    /// The registry has no entry for its kind.
    #[error("no domain answers `{0}`: the registry has no entry for it yet")]
    Kind(Kind),
    /// The registry's entry leads nowhere.
    #[error(transparent)]
    Lookup(#[from] LookupError),
}

/// Looks up all that the references of an assignment need.
pub async fn gather(
    world: &dyn World,
    registry: &Registry,
    assignment: &Assignment,
    references: &BTreeSet<Reference>,
) -> Inputs {
    let mut inputs = Inputs { registry: registry.clone(), ..Inputs::default() };
    for lookup in lookups(registry, assignment, references) {
        match lookup {
            Lookup::Bucket { keys, .. } => {
                // What was never read yet is left out: it is waited for, and never taken for empty.
                if let Some(found) = world.values(&keys) {
                    inputs.buckets.insert(keys, found);
                }
            }
            Lookup::Verb { verb, ask: Ask::Secret(module, entry) } => {
                let asked = world.secret(&verb, &module, &entry).await;
                inputs.credentials.insert(entry.to_string(), asked);
            }
            Lookup::Verb { verb, ask: Ask::Consumers(module, provision) } => {
                let asked = world.consumers(&verb, &module, &provision).await;
                inputs.consumers.insert(provision, asked);
            }
        }
    }
    inputs
}

/// Every place that has to be looked at, each once.
pub fn lookups(
    registry: &Registry,
    assignment: &Assignment,
    references: &BTreeSet<Reference>,
) -> BTreeSet<Lookup> {
    let mut all: BTreeSet<Lookup> =
        references.iter().filter_map(|reference| place(registry, assignment, reference).ok()).collect();
    for need in &assignment.needs {
        let Some(field) = need.gives.keys().next() else { continue };
        let bound = Reference::Bound(need.local.clone(), field.clone());
        all.extend(place(registry, assignment, &bound));
        // Whether or not a secret of it is used: that a credential was taken up, is told of each.
        if need.has_credential() {
            all.extend(credential_place(registry, assignment, &Entry::Need(need.local.clone())));
        }
    }
    all
}

/// A map whose keys are no text, as a list of pairs.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<K, V>, D::Error> {
        Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
    }
}

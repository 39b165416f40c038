//! Where the registry says that a placeholder's value is found: a field of values in a bucket, or a verb's answer.
//!
//! This is all that the client knows of who answers what: nothing. A registration names a bucket and a key with words
//! in angle brackets to be filled in, or a verb; a kind that is not registered is waited for.

use mesh_model::key::{Entry, encode_token};
use mesh_model::name::{CollectionName, ModuleName, ProvisionName};
use mesh_model::placeholder::Reference;
use mesh_model::wire::{Assignment, Need, Registration, Source};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where a value is found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lookup {
    /// In the values of a bucket under the keys that a filter takes.
    Bucket {
        /// Which keys of which bucket.
        keys: Keys,
        /// The field of the value.
        field: String,
    },
    /// In a verb's answer.
    Verb {
        /// The verb, without the node.
        verb: String,
        /// What to ask it.
        ask: Ask,
    },
}

/// Keys of a bucket: one, or a filter over them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Keys {
    /// The bucket.
    pub bucket: String,
    /// The key, with `*` for a token that may be any.
    pub filter: String,
}

/// What a verb is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// The live credentials under one name.
    Secret(ModuleName, Entry),
    /// The consumers of a provision, with their credentials.
    Consumers(ModuleName, ProvisionName),
}

/// Why a registration leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LookupError {
    /// A word in angle brackets that this reference has nothing for.
    #[error(
        "the registry's entry for `{kind}` has the key `{key}`, which does not fit a placeholder of this kind"
    )]
    Key {
        /// The kind.
        kind: String,
        /// The key as registered.
        key: String,
    },
    /// A verb for a kind that is not asked for.
    #[error("the registry names the verb `{verb}` for `{kind}`, which is not had by asking")]
    Verb {
        /// The kind.
        kind: String,
        /// The verb.
        verb: String,
    },
    /// A need that the assignment does not have.
    #[error("the assignment has no need `{0}`")]
    Need(String),
}

/// Where the value of a reference is found.
///
/// # Errors
/// Where the registration does not fit the kind, or the assignment has no such need.
pub fn lookup(
    registration: &Registration,
    assignment: &Assignment,
    reference: &Reference,
) -> Result<Lookup, LookupError> {
    match &registration.source {
        Source::Bucket { bucket, key, field } => {
            let words = Words::of(assignment, reference)?;
            let wrong = || LookupError::Key { kind: registration.kind.to_string(), key: key.clone() };
            let bucket = words.fill(bucket).ok_or_else(wrong)?;
            let filter = words.fill(key).ok_or_else(wrong)?;
            Ok(Lookup::Bucket { keys: Keys { bucket, filter }, field: field.clone() })
        }
        Source::Verb { verb } => {
            let ask = ask(assignment, reference).ok_or_else(|| LookupError::Verb {
                kind: registration.kind.to_string(),
                verb: verb.clone(),
            })?;
            Ok(Lookup::Verb { verb: verb.clone(), ask })
        }
    }
}

fn ask(assignment: &Assignment, reference: &Reference) -> Option<Ask> {
    let module = assignment.module.clone();
    match reference {
        Reference::Secret(name) => Some(Ask::Secret(module, Entry::Own(name.clone()))),
        Reference::Bound(local, _) => Some(Ask::Secret(module, Entry::Need(local.clone()))),
        Reference::Consumers(provision) => Some(Ask::Consumers(module, provision.clone())),
        _ => None,
    }
}

/// The collection that a reference reads, where it reads one.
#[must_use]
pub fn collection(reference: &Reference) -> Option<CollectionName> {
    match reference {
        Reference::Collected(name) | Reference::Shell(name) | Reference::Environment(name) => {
            Some(name.clone())
        }
        Reference::Contribution(provision) => contribution(provision),
        _ => None,
    }
}

/// The collection in which the consumers of a provision hand over what it takes.
#[must_use]
pub fn contribution(provision: &ProvisionName) -> Option<CollectionName> {
    format!("contribution:{provision}").parse().ok()
}

/// What the words in angle brackets stand for.
struct Words<'a> {
    assignment: &'a Assignment,
    need: Option<&'a Need>,
    collection: Option<CollectionName>,
}

impl<'a> Words<'a> {
    fn of(assignment: &'a Assignment, reference: &Reference) -> Result<Self, LookupError> {
        let need = match reference {
            Reference::Bound(local, _) => {
                let found = assignment.needs.iter().find(|need| need.local == *local);
                Some(found.ok_or_else(|| LookupError::Need(local.to_string()))?)
            }
            _ => None,
        };
        Ok(Self { assignment, need, collection: collection(reference) })
    }

    /// Fills in a registration's text; none where a word has nothing to stand for.
    fn fill(&self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(['<', '[']) {
            out.push_str(&rest[..start]);
            if let Some(behind) = rest[start..].strip_prefix("[.<local>]") {
                let need = self.need?;
                if need.local.as_str() != need.provision.as_str() {
                    out.push_str(&format!(".{}", need.local));
                }
                rest = behind;
                continue;
            }
            let end = start + rest[start..].find('>')?;
            out.push_str(&self.word(&rest[start..=end])?);
            rest = &rest[end + 1..];
        }
        out.push_str(rest);
        Some(out)
    }

    fn word(&self, word: &str) -> Option<String> {
        match word {
            "<node>" => Some(self.assignment.node.to_string()),
            "<module>" => Some(self.assignment.module.to_string()),
            "<provider-module>" => Some(self.need?.from.module.to_string()),
            "<provision>" => Some(self.need?.provision.to_string()),
            "<local>" => Some(self.need?.local.to_string()),
            "<collection>" => Some(encode_token(self.collection.as_ref()?.as_str())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;

//! What the verb `mesh-provisioner.provisioning` answers: a page of a bucket. Pure: a bucket's entries and a question in,
//! an answer or its refusal out.
//!
//! Nothing is dropped quietly: a key out of shape, and a value that is not what its key says, stand in `misshapen`. A key
//! out of shape belongs to no node and no module, so no filter hides it.

use mesh_bus::Bucket;
use mesh_bus::verb::VerbError;
use mesh_model::key::{CollectKey, ModuleKey, NeedKey};
use mesh_model::kind::Kind;
use mesh_model::name::{CollectionName, ModuleName, NodeName};
use mesh_model::wire::{
    Applied, Collect, Misshapen, NeedRecord, ProvisioningAnswer, ProvisioningAsk, Registration, What,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// How many entries an answer holds at most.
const LIMIT: usize = 1000;
/// How many bytes of entries an answer holds, beyond the first entry: with it, it stays below what the bus takes.
const ENOUGH: usize = 400 * 1024;

/// The bucket that a question is about.
#[must_use]
pub fn bucket(what: What) -> Bucket {
    match what {
        What::Registry => Bucket::registry(),
        What::Needs => Bucket::needs(),
        What::Applied => Bucket::applied(),
        What::Collect => Bucket::collect(),
    }
}

/// Whether a question can be answered.
///
/// # Errors
/// `bad-request`, saying what is wrong with it.
pub fn check(ask: &ProvisioningAsk) -> Result<(), VerbError> {
    if ask.collection.is_some() && ask.what != What::Collect {
        let message = format!("`collection` goes with `collect` alone, and `{}` was asked for", ask.what);
        return Err(
            VerbError::new("bad-request", message).help("ask for `collect`, or leave `collection` out")
        );
    }
    match ask.limit {
        Some(limit) if !(1..=LIMIT).contains(&limit) => {
            let message = format!("`limit` is {limit}, and must be 1 to {LIMIT}");
            Err(VerbError::new("bad-request", message).help("go on behind `next` for more"))
        }
        _ => Ok(()),
    }
}

/// The page of a bucket that a question is about. The entries come in the order of their keys.
///
/// # Errors
/// As [`check`].
pub fn select<'a>(
    entries: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ask: &ProvisioningAsk,
) -> Result<ProvisioningAnswer, VerbError> {
    check(ask)?;
    let limit = ask.limit.unwrap_or(LIMIT);
    let mut answer = ProvisioningAnswer { what: ask.what, ..ProvisioningAnswer::default() };
    let (mut bytes, mut last) = (0, None);
    let behind = |key: &str| ask.after.as_deref().is_none_or(|after| key > after);
    for (key, value) in entries.into_iter().filter(|(key, _)| behind(key)) {
        let found = match look(ask, key, value) {
            Found::Other => continue,
            found => found,
        };
        bytes += key.len() + value.len();
        let told = answer.entries.len() + answer.misshapen.len();
        if told == limit || (told > 0 && bytes > ENOUGH) {
            answer.next = last.map(str::to_owned);
            break;
        }
        match found {
            Found::Entry(value) => answer.entries.push(value),
            Found::Misshapen(why) => answer.misshapen.push(misshapen(ask.what, key, why)),
            Found::Other => {}
        }
        last = Some(key);
    }
    Ok(answer)
}

fn misshapen(what: What, key: &str, why: String) -> Misshapen {
    Misshapen { bucket: bucket(what).name().to_owned(), key: key.to_owned(), why }
}

/// What stands under one key.
enum Found {
    /// What was asked for.
    Entry(Value),
    /// Something that was not asked for.
    Other,
    /// Not what it should be: why.
    Misshapen(String),
}

/// What a key or a value says of whom it is about.
#[derive(Debug, PartialEq, Eq)]
enum Subject {
    Kind(Kind),
    Need(NeedKey),
    Applied(ModuleKey),
    Collect(CollectKey),
}

impl Subject {
    fn of_key(what: What, key: &str) -> Result<Self, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("the key is out of shape: {error}");
        match what {
            What::Registry => match key.parse() {
                Ok(kind) => Ok(Self::Kind(kind)),
                Err(_) => Err(wrong(&format_args!("`{key}` is not a kind"))),
            },
            What::Needs => key.parse().map(Self::Need).map_err(|e| wrong(&e)),
            What::Applied => key.parse().map(Self::Applied).map_err(|e| wrong(&e)),
            What::Collect => key.parse().map(Self::Collect).map_err(|e| wrong(&e)),
        }
    }

    fn of_value(what: What, value: &Value) -> Result<Self, String> {
        Ok(match what {
            What::Registry => Self::Kind(read::<Registration>(value)?.kind),
            What::Needs => {
                let NeedRecord { node, module, kind, name, .. } = read(value)?;
                Self::Need(NeedKey { node, module, kind, name })
            }
            What::Applied => {
                let Applied { node, module, .. } = read(value)?;
                Self::Applied(ModuleKey { node, module })
            }
            What::Collect => {
                let Collect { node, collection, contributor, .. } = read(value)?;
                Self::Collect(CollectKey { node, collection, contributor })
            }
        })
    }

    /// Its node, its module and its collection. The registry is about none: it holds for all.
    fn about(&self) -> (Option<&NodeName>, Option<&ModuleName>, Option<&CollectionName>) {
        match self {
            Self::Kind(_) => (None, None, None),
            Self::Need(key) => (Some(&key.node), Some(&key.module), None),
            Self::Applied(key) => (Some(&key.node), Some(&key.module), None),
            Self::Collect(key) => (Some(&key.node), Some(&key.contributor), Some(&key.collection)),
        }
    }

    fn is_asked_for(&self, ask: &ProvisioningAsk) -> bool {
        fn fits<T: PartialEq>(wanted: Option<&T>, has: Option<&T>) -> bool {
            wanted.is_none() || has.is_none() || wanted == has
        }
        let (node, module, collection) = self.about();
        fits(ask.node.as_ref(), node)
            && fits(ask.module.as_ref(), module)
            && fits(ask.collection.as_ref(), collection)
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| format!("the value is not what its bucket holds: {error}"))
}

fn look(ask: &ProvisioningAsk, key: &str, value: &[u8]) -> Found {
    let subject = match Subject::of_key(ask.what, key) {
        Ok(subject) if subject.is_asked_for(ask) => subject,
        Ok(_) => return Found::Other,
        Err(why) => return Found::Misshapen(why),
    };
    let value: Value = match serde_json::from_slice(value) {
        Ok(value) => value,
        Err(error) => return Found::Misshapen(format!("the value is not JSON: {error}")),
    };
    match Subject::of_value(ask.what, &value) {
        Ok(says) if says == subject => Found::Entry(value),
        Ok(_) => Found::Misshapen("the value is about something else than its key".to_owned()),
        Err(why) => Found::Misshapen(why),
    }
}

#[cfg(test)]
mod tests;

//! What each placeholder of an assignment stands for, or why it waits.
//!
//! Start at [`resolve`]. A reference is either known or waited for with a reason that somebody will read: nothing is
//! ever taken as empty. A provider's answer counts while it is by the provider and for the contribution of the
//! assignment; a credential counts once the provider says that it accepts it, so that no service starts with a password
//! that does not work yet.

mod bound;
mod fields;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use mesh_model::causes::in_a_line as said;
use mesh_model::key::Entry;
use mesh_model::kind::Kind;
use mesh_model::name::NodeName;
use mesh_model::placeholder::Reference;
use mesh_model::wire::{Assignment, NeedState};
use mesh_seal::Fields;
use serde_json::Value;
use zeroize::Zeroize;

use super::inputs::{Asked, Inputs, Offered, place};
use super::lookup::Lookup;
use super::opener::{Opener, key};

/// A value that a placeholder stands for. One that holds a secret is wiped when dropped.
pub struct Known {
    value: Value,
    secret: bool,
}

impl Known {
    /// A value that anybody may see.
    #[must_use]
    pub fn plain(value: Value) -> Self {
        Self { value, secret: false }
    }

    /// A value that nobody may see.
    #[must_use]
    pub fn secret(value: Value) -> Self {
        Self { value, secret: true }
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Whether a secret is in it.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        if self.secret {
            wipe(&mut self.value);
        }
    }
}

fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(fields) => fields.values_mut().for_each(wipe),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a reference came to: a value, or why there is none yet.
pub type Found = Result<Known, String>;

/// What became of an assignment's references.
pub struct Resolved {
    /// Each reference's value, or why it waits.
    pub values: BTreeMap<Reference, Found>,
    /// Each need, told to everybody.
    pub needs: Vec<NeedStatus>,
    /// The credentials that are rendered.
    pub used: Used,
}

/// Which credentials are rendered, and of which offer of the vault's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Used {
    /// The id of each.
    pub credentials: BTreeMap<Entry, String>,
    /// The number of the offer that it was taken from, where the vault numbers it.
    pub turns: BTreeMap<Entry, u64>,
    /// Why a newer one is not accepted.
    pub refused: BTreeMap<Entry, String>,
}

/// Whether one need is met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeedStatus {
    /// Its kind.
    pub kind: Kind,
    /// Its name within the kind.
    pub name: String,
    /// Whether it is met.
    pub state: NeedState,
    /// Why it is not.
    pub why: Option<String>,
    /// Who answers it.
    pub owner: String,
    /// The provider's node.
    pub from: Option<NodeName>,
    /// Whether a placeholder uses it, so that its module waits for it.
    pub holds_up: bool,
}

/// Resolves every reference of an assignment.
pub fn resolve(
    assignment: &Assignment,
    inputs: &Inputs,
    opener: &mut Opener,
    references: &BTreeSet<Reference>,
) -> Resolved {
    let mut answers = bound::Answers::of(assignment, inputs, opener, references);
    let mut used = Used { turns: turns(inputs), ..Used::default() };
    let values: BTreeMap<Reference, Found> = references
        .iter()
        .map(|reference| {
            let found = match reference {
                Reference::Bound(local, field) => answers.field(local, field),
                Reference::Secret(name) => {
                    let entry = Entry::Own(name.clone());
                    own_secret(assignment, inputs, opener, &entry).map(|(id, known)| {
                        used.credentials.insert(entry, id);
                        known
                    })
                }
                Reference::Consumers(provision) => {
                    super::consumers::with_credentials(assignment, inputs, opener, provision)
                }
                other => in_bucket(assignment, inputs, other),
            };
            (reference.clone(), found)
        })
        .collect();
    let needs = statuses(assignment, inputs, &values, &answers);
    used.refused = answers.refused();
    used.credentials.extend(answers.into_credentials(inputs));
    Resolved { values, needs, used }
}

fn turns(inputs: &Inputs) -> BTreeMap<Entry, u64> {
    let turn = |(entry, asked): (&String, &Asked<Offered>)| match asked {
        Asked::Answer(Offered { turn: Some(turn), .. }) => Some((entry.parse().ok()?, *turn)),
        Asked::Answer(_) | Asked::NotYet(_) => None,
    };
    inputs.credentials.iter().filter_map(turn).collect()
}

/// The newest of a secret of the module's own, and its id.
fn own_secret(
    assignment: &Assignment,
    inputs: &Inputs,
    opener: &mut Opener,
    entry: &Entry,
) -> Result<(String, Known), String> {
    let key = key(assignment, entry.clone());
    let opened = match inputs.credentials.get(&entry.to_string()) {
        None => return Err("nobody was asked for it yet".to_owned()),
        Some(Asked::NotYet(why)) => return Err(why.clone()),
        Some(Asked::Answer(offered)) => {
            opener.open(&key, &offered.credentials).map_err(|error| said(&error))?
        }
    };
    let newest = opened.last().ok_or_else(|| "the vault has not made it yet".to_owned())?;
    let text = newest.fields.get(Fields::OWN).and_then(mesh_seal::Secret::expose_text);
    let text = text.ok_or_else(|| format!("what the vault delivered has no field `{}`", Fields::OWN))?;
    Ok((newest.id.clone(), Known::secret(Value::String(text.to_owned()))))
}

fn in_bucket(assignment: &Assignment, inputs: &Inputs, reference: &Reference) -> Found {
    let lookup = place(&inputs.registry, assignment, reference).map_err(|nowhere| nowhere.to_string())?;
    let Lookup::Bucket { keys, field } = lookup else {
        return Err(format!("`{}` is registered as a verb, and is not had by asking", reference.kind()));
    };
    let records = inputs.buckets.get(&keys).ok_or_else(|| format!("{} was not read yet", keys.bucket))?;
    fields::read(assignment, reference, &field, records)
}

/// One status a need: of what the placeholders use, and of every provision, used or not.
fn statuses(
    assignment: &Assignment,
    inputs: &Inputs,
    values: &BTreeMap<Reference, Found>,
    answers: &bound::Answers<'_>,
) -> Vec<NeedStatus> {
    let mut all: BTreeMap<(Kind, String), NeedStatus> = BTreeMap::new();
    for need in &assignment.needs {
        let why = answers.state(&need.local).err();
        let owner = need.from.module.to_string();
        let from = Some(need.from.node.clone());
        let status = status(Kind::Bound, need.local.to_string(), why, owner, from, false);
        all.insert((status.kind, status.name.clone()), status);
    }
    for (reference, found) in values {
        let why = found.as_ref().err().cloned();
        let kind = reference.kind();
        let owner =
            inputs.registry.get(&kind).map_or_else(|| "nobody".to_owned(), |entry| entry.owner.clone());
        let new = status(kind, reference.need_name(), why, owner, None, true);
        match all.entry((kind, new.name.clone())) {
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(new);
            }
            std::collections::btree_map::Entry::Occupied(mut there) => there.get_mut().also(new),
        }
    }
    all.into_values().collect()
}

fn status(
    kind: Kind,
    name: String,
    why: Option<String>,
    owner: String,
    from: Option<NodeName>,
    holds_up: bool,
) -> NeedStatus {
    let state = if why.is_some() { NeedState::Waiting } else { NeedState::Met };
    NeedStatus { kind, name, state, why, owner, from, holds_up }
}

impl NeedStatus {
    /// Another field of the same need: it waits while either does.
    fn also(&mut self, other: Self) {
        self.holds_up |= other.holds_up;
        if self.state == NeedState::Met {
            (self.state, self.why) = (other.state, other.why);
        }
    }
}

#[cfg(test)]
mod tests;

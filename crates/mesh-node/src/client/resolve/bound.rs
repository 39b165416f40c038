//! The answers of an assignment's providers: which count, which credential each accepted, and every field of them.

use std::collections::{BTreeMap, BTreeSet};

use mesh_model::key::Entry;
use mesh_model::name::{FieldName, LocalName};
use mesh_model::placeholder::{Part, Placeholder, Reference, Template};
use mesh_model::wire::{Assignment, Bound, Give, Need};
use serde_json::Value;
use zeroize::Zeroizing;

use super::super::inputs::{Asked, Inputs, place};
use super::super::lookup::Lookup;
use super::super::opener::{Opened, Opener, key};
use super::{Found, Known, said};

/// How many `from` fields may lead to each other. The plan refuses circles; this bounds one that came another way.
const DEPTH: usize = 16;

/// The answers of every provider that an assignment needs.
pub(super) struct Answers<'a> {
    assignment: &'a Assignment,
    by_local: BTreeMap<LocalName, Answer<'a>>,
}

struct Answer<'a> {
    need: &'a Need,
    /// The answer that counts, or why none does.
    bound: Result<Bound, String>,
    /// The credential that it names, where its secrets are used.
    credential: Option<Result<Opened, String>>,
}

impl<'a> Answers<'a> {
    pub(super) fn of(
        assignment: &'a Assignment,
        inputs: &Inputs,
        opener: &mut Opener,
        references: &BTreeSet<Reference>,
    ) -> Self {
        let used: BTreeSet<&LocalName> = references
            .iter()
            .filter_map(|reference| match reference {
                Reference::Bound(local, _) => Some(local),
                _ => None,
            })
            .collect();
        let by_local = assignment
            .needs
            .iter()
            .map(|need| {
                let bound = counting(assignment, inputs, need);
                let asked = used.contains(&need.local) && need.has_credential();
                let credential = asked
                    .then(|| {
                        bound.as_ref().ok().map(|bound| accepted(assignment, inputs, opener, need, bound))
                    })
                    .flatten();
                (need.local.clone(), Answer { need, bound, credential })
            })
            .collect();
        Self { assignment, by_local }
    }

    /// Whether the need is answered, whatever its fields say.
    pub(super) fn state(&self, local: &LocalName) -> Result<(), String> {
        let answer = self.answer(local)?;
        answer.bound.as_ref().map_err(Clone::clone)?;
        match &answer.credential {
            Some(Err(why)) => Err(why.clone()),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    /// A field of a need.
    pub(super) fn field(&mut self, local: &LocalName, field: &FieldName) -> Found {
        let answer = self.answer(local)?;
        answer.field(self.assignment, field, DEPTH)
    }

    /// The id of the credential that each need is rendered with. Where nothing of a need is used, none is: then it is as
    /// well with the one that its provider accepts.
    pub(super) fn into_credentials(self, inputs: &Inputs) -> BTreeMap<Entry, String> {
        let id = |(local, answer): (LocalName, Answer<'_>)| {
            let entry = Entry::Need(local);
            match answer.credential {
                Some(Ok(opened)) => Some((entry, opened.id)),
                Some(Err(_)) => None,
                None => {
                    let id = answer.bound.ok()?.credential?;
                    is_offered(inputs, &entry, &id).then_some((entry, id))
                }
            }
        };
        self.by_local.into_iter().filter_map(id).collect()
    }

    /// Why a newer credential than the one in use is not accepted, for each need that has one.
    pub(super) fn refused(&self) -> BTreeMap<Entry, String> {
        let why = |(local, answer): (&LocalName, &Answer<'_>)| {
            Some((Entry::Need(local.clone()), answer.bound.as_ref().ok()?.why.clone()?))
        };
        self.by_local.iter().filter_map(why).collect()
    }

    fn answer(&self, local: &LocalName) -> Result<&Answer<'a>, String> {
        self.by_local.get(local).ok_or_else(|| format!("the assignment has no need `{local}`"))
    }
}

/// The provider's answer, if there is one and it is to what this assignment says.
fn counting(assignment: &Assignment, inputs: &Inputs, need: &Need) -> Result<Bound, String> {
    let provider = format!("{}@{}", need.from.module, need.from.node);
    let waiting = || format!("waiting for `{}` of {provider}: it has not answered yet", need.local);
    let field = need.gives.keys().next().cloned().ok_or_else(waiting)?;
    let reference = Reference::Bound(need.local.clone(), field);
    let lookup = place(&inputs.registry, assignment, &reference).map_err(|nowhere| nowhere.to_string())?;
    let Lookup::Bucket { keys, .. } = lookup else { return Err(waiting()) };
    let (_, record) = inputs.buckets.get(&keys).and_then(|found| found.first()).ok_or_else(waiting)?;
    let bound: Bound = serde_json::from_value(record.clone())
        .map_err(|error| format!("the answer of {provider} cannot be read: {error}"))?;
    if bound.by != need.from.node || bound.revision != need.revision {
        return Err(format!(
            "waiting for `{}` of {provider}: its answer is to an earlier contribution",
            need.local
        ));
    }
    match &bound.error {
        Some(error) => Err(format!("{provider} says: {error}")),
        None => Ok(bound),
    }
}

fn is_offered(inputs: &Inputs, entry: &Entry, id: &str) -> bool {
    match inputs.credentials.get(&entry.to_string()) {
        Some(Asked::Answer(offered)) => offered.credentials.iter().any(|one| one.id == id),
        Some(Asked::NotYet(_)) | None => false,
    }
}

/// The credential that the answer says is accepted.
fn accepted(
    assignment: &Assignment,
    inputs: &Inputs,
    opener: &mut Opener,
    need: &Need,
    bound: &Bound,
) -> Result<Opened, String> {
    let provider = format!("{}@{}", need.from.module, need.from.node);
    let id = bound.credential.as_ref();
    let id =
        id.ok_or_else(|| format!("{provider} has not accepted a credential for `{}` yet", need.local))?;
    let entry = Entry::Need(need.local.clone());
    let delivered = match inputs.credentials.get(&entry.to_string()) {
        None => return Err("the vault was not asked for the credential yet".to_owned()),
        Some(Asked::NotYet(why)) => return Err(why.clone()),
        Some(Asked::Answer(offered)) => &offered.credentials,
    };
    let opened = opener.open(&key(assignment, entry), delivered).map_err(|error| said(&error))?;
    opened.into_iter().find(|one| one.id == *id).ok_or_else(|| {
        format!(
            "{provider} accepts the credential {id} for `{}`, which the vault has not delivered",
            need.local
        )
    })
}

impl Answer<'_> {
    fn field(&self, assignment: &Assignment, field: &FieldName, depth: usize) -> Found {
        let bound = self.bound.as_ref().map_err(Clone::clone)?;
        let provider = format!("{}@{}", self.need.from.module, self.need.from.node);
        match self.need.gives.get(field) {
            None => Err(format!("{provider} does not give `{field}`")),
            Some(Give::Value) => {
                let value = bound.values.as_ref().and_then(|values| values.get(field));
                let value = value.ok_or_else(|| format!("the answer of {provider} lacks `{field}`"))?;
                self.credential_is_there()?;
                Ok(Known::plain(Value::String(value.clone())))
            }
            Some(Give::Secret { .. }) => self.secret(field, &provider),
            Some(Give::From { template, secret }) => {
                let text = self.put_together(assignment, template, depth)?;
                let value = Value::String(text.as_str().to_owned());
                Ok(if *secret { Known::secret(value) } else { Known::plain(value) })
            }
        }
    }

    /// What identifies may differ from credential to credential: no field is used before its credential is.
    fn credential_is_there(&self) -> Result<(), String> {
        match &self.credential {
            Some(Err(why)) => Err(why.clone()),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    fn secret(&self, field: &FieldName, provider: &str) -> Found {
        let opened = match &self.credential {
            Some(Ok(opened)) => opened,
            Some(Err(why)) => return Err(why.clone()),
            None => return Err(format!("there is no credential of {provider} yet")),
        };
        let text = opened.fields.get(field.as_str()).and_then(mesh_seal::Secret::expose_text);
        let text = text.ok_or_else(|| format!("the credential of {provider} lacks `{field}`"))?;
        Ok(Known::secret(Value::String(text.to_owned())))
    }

    fn put_together(
        &self,
        assignment: &Assignment,
        template: &str,
        depth: usize,
    ) -> Result<Zeroizing<String>, String> {
        let depth = depth.checked_sub(1).ok_or("its `from` leads back to itself")?;
        let (template, faults) = Template::parse(template);
        if let Some(fault) = faults.first() {
            return Err(format!("its `from` cannot be read: {}", fault.kind));
        }
        let mut out = Zeroizing::new(String::new());
        for part in &template.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Placeholder(placeholder) => {
                    let known = self.piece(assignment, placeholder, depth)?;
                    out.push_str(&super::super::render::written(placeholder, known.value())?);
                }
            }
        }
        Ok(out)
    }

    fn piece(&self, assignment: &Assignment, placeholder: &Placeholder, depth: usize) -> Found {
        let text = |text: &str| Ok(Known::plain(Value::String(text.to_owned())));
        match &placeholder.reference {
            Reference::Gives(field) => self.field(assignment, field, depth),
            Reference::ConsumerModule => text(assignment.module.as_str()),
            Reference::ConsumerNode => text(assignment.node.as_str()),
            Reference::ConsumerLocal => text(self.need.local.as_str()),
            other => Err(format!("`{other}` has no value in a `from`")),
        }
    }
}

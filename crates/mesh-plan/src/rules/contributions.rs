//! What each consumer hands to its provider: all that it takes, nothing else, and nothing that another has taken.

use std::collections::BTreeMap;

use mesh_model::filter::plain;
use mesh_model::key::ModuleKey;
use mesh_model::name::{FieldName, LocalName, ProvisionName};
use mesh_model::refusal::{Code, Refusal};
use mesh_model::wire::Provider;
use serde_json::{Map, Value};

use crate::manifest::{Need, Provision, Take};
use crate::model::Model;
use crate::nearest::{advice, nearest};
use crate::scope::{Scope, Unresolved};
use crate::span::Span;
use crate::text::At;
use crate::texts::Spot;

/// What each need hands over, for each module on each node.
pub(crate) type Contributions = BTreeMap<ModuleKey, BTreeMap<LocalName, Map<String, Value>>>;

/// Decides what each need hands over. `missing-contribution`, `unknown-contribution`, `bad-contribution`,
/// `contribution-taken`.
pub(crate) fn decide(model: &Model<'_>, out: &mut Vec<Refusal>) -> Contributions {
    let mut all = Contributions::new();
    let mut taken = Taken::new();
    for (key, answers) in &model.answers {
        for (local, from) in answers {
            let need = &model.module(&key.module).manifest.needs[local];
            let Some(provision) = &need.value.provision else { continue };
            let Some(made) = model.provision(&from.module, &provision.value) else { continue };
            let one = One { model, key, local, need, from, name: &provision.value, made };
            let whole = one.fields(out);
            let values = one.values(out);
            if whole {
                one.claim(&values, &mut taken, out);
            }
            all.entry(key.clone()).or_default().insert(local.clone(), values);
        }
    }
    all
}

/// Who contributed the same first, for each provider: the values of its `distinct` fields.
type Taken<'a> = BTreeMap<(&'a Provider, &'a ProvisionName, Vec<String>), &'a ModuleKey>;

/// One need of one module on one node.
struct One<'a, 'm> {
    model: &'a Model<'m>,
    key: &'a ModuleKey,
    local: &'a LocalName,
    need: &'a At<Need>,
    from: &'a Provider,
    name: &'a ProvisionName,
    made: &'a Provision,
}

impl<'a> One<'a, '_> {
    fn refuse(&self, code: Code, span: Span, message: String, help: String, out: &mut Vec<Refusal>) {
        let mut refusal = self.model.module(&self.key.module).source.refuse(code, span, message, help);
        refusal.node = Some(self.key.node.clone());
        refusal.name = Some(self.local.to_string());
        out.push(refusal);
    }

    /// Whether every field is asked for and every field asked for is there.
    fn fields(&self, out: &mut Vec<Refusal>) -> bool {
        if self.need.value.unsure || self.made.unsure {
            return false;
        }
        let takes = &self.made.takes;
        let with = &self.need.value.with;
        let mut meant = Vec::new();
        for (field, value) in with.iter().filter(|(field, _)| !takes.contains_key(*field)) {
            let known = takes.keys().map(|field| field.as_str());
            let message = format!("`{}` does not take `{field}`", self.name);
            let help = advice(field.as_str(), "field that it takes", known.clone());
            meant.extend(nearest(field.as_str(), known.filter(|known| !with.contains_key(*known))));
            self.refuse(Code::UnknownContribution, value.span, message, help, out);
        }
        let mut whole = meant.is_empty();
        for (field, take) in takes {
            let needed = take.value.required && !with.contains_key(field);
            if needed && !meant.contains(&field.as_str()) {
                let message = format!(
                    "`{}` has to be handed `{field}`, and the need `{}` does not",
                    self.name, self.local
                );
                let help =
                    format!("add it: `{}: {{provision: {}, with: {{{field}: …}}}}`", self.local, self.name);
                self.refuse(Code::MissingContribution, self.need.span, message, help, out);
                whole = false;
            }
        }
        whole
    }

    /// The value of each field, defaults filled in.
    fn values(&self, out: &mut Vec<Refusal>) -> Map<String, Value> {
        let mut values = Map::new();
        for (field, take) in &self.made.takes {
            if let Some((value, span)) = self.value(field, &take.value, out) {
                self.fits(field, &take.value, &value, span, out);
                values.insert(field.to_string(), value);
            }
        }
        values
    }

    fn value(&self, field: &FieldName, take: &Take, out: &mut Vec<Refusal>) -> Option<(Value, Span)> {
        let provider = ModuleKey { node: self.from.node.clone(), module: self.from.module.clone() };
        let (value, span) = match (self.need.value.with.get(field), &take.default) {
            // What may not stand there has been refused for that.
            (Some(input), _) if !Spot::With.allows(&input.value) => return None,
            (Some(input), _) => (Scope::of(self.model, self.key).input(&input.value), input.span),
            // A default that does not fit has been refused where it is written.
            (None, Some(input)) if !take.required && !self.made.unsure => {
                let scope =
                    Scope { consumer: Some((self.key, self.local)), ..Scope::of(self.model, &provider) };
                (scope.input(input), self.need.span)
            }
            _ => return None,
        };
        match value {
            Ok(value) => Some((value, span)),
            Err(Unresolved::Unknown) => None,
            Err(Unresolved::Filter(error, place)) => {
                let message = format!("`{field}` cannot be written: {error}");
                self.refuse(
                    Code::BadPlaceholder,
                    place,
                    message,
                    "use another filter, or another value".to_owned(),
                    out,
                );
                None
            }
        }
    }

    fn fits(&self, field: &FieldName, take: &Take, value: &Value, span: Span, out: &mut Vec<Refusal>) {
        let Some(text) = plain(value) else {
            let message = format!("`{field}` is handed a list, and a contribution is a text or a number");
            self.refuse(Code::BadContribution, span, message, "use `| lines` or `| json`".to_owned(), out);
            return;
        };
        let Some(pattern) = take.pattern.as_ref().filter(|pattern| !pattern.regex.is_match(&text)) else {
            return;
        };
        let message = format!(
            "`{}` does not take `{text}` as `{field}`: it does not fit `{}`",
            self.name, pattern.text
        );
        let help = format!("write a `{field}` that fits the pattern as a whole: `{}`", pattern.text);
        self.refuse(Code::BadContribution, span, message, help, out);
    }

    /// Two modules may not contribute the same to one provider; one module on two nodes may.
    fn claim(&self, values: &Map<String, Value>, taken: &mut Taken<'a>, out: &mut Vec<Refusal>) {
        let distinct = &self.made.distinct;
        let said: Vec<String> =
            distinct.iter().filter_map(|field| plain(values.get(field.as_str())?)).collect();
        if distinct.is_empty() || said.len() < distinct.len() {
            return;
        }
        let first = *taken.entry((self.from, self.name, said.clone())).or_insert(self.key);
        if first.module == self.key.module {
            return;
        }
        let what: Vec<String> =
            distinct.iter().zip(&said).map(|(field, value)| format!("{field} `{value}`")).collect();
        let message = format!(
            "`{}` and `{}` both hand the {} to `{}` of {}@{}",
            first.module,
            self.key.module,
            what.join(" and "),
            self.name,
            self.from.module,
            self.from.node
        );
        let help = format!("give one of the two another {}", distinct[0]);
        let with = self.need.value.with.get(&distinct[0]);
        let span = with.map_or(self.need.span, |input| input.span);
        self.refuse(Code::ContributionTaken, span, message, help, out);
    }
}

//! What each consumer hands to its provider: all that it takes, nothing else, and nothing that another has taken.

use std::collections::BTreeMap;
use std::sync::Arc;

use mesh_model::filter::plain;
use mesh_model::key::ModuleKey;
use mesh_model::name::{FieldName, LocalName, ProvisionName};
use mesh_model::refusal::{Code, Refusal};
use serde_json::{Map, Value};

use crate::manifest::{Need, Provision, Take};
use crate::model::Model;
use crate::nearest::{advice, nearest};
use crate::runs::{Answer, Run};
use crate::scope::{Scope, Unresolved};
use crate::span::Span;
use crate::text::At;
use crate::texts::Spot;

/// What each need of each run hands over, in the order of its answers.
pub(crate) type Contributions = Vec<Vec<Arc<Map<String, Value>>>>;

/// Decides what each need hands over. `missing-contribution`, `unknown-contribution`, `bad-contribution`,
/// `contribution-taken`.
pub(crate) fn decide(model: &Model<'_>, out: &mut Vec<Refusal>) -> Contributions {
    let mut taken = Taken::new();
    let mut all = Contributions::with_capacity(model.runs.iter().len());
    for run in &model.runs {
        let mut handed = |answer| match One::of(model, run, answer) {
            Some(one) => Arc::new(one.decide(&mut taken, out)),
            None => Arc::default(),
        };
        all.push(run.answers.iter().map(&mut handed).collect());
    }
    all
}

/// Who contributed the same first, for each provider: the values of its `distinct` fields.
type Taken<'a> = BTreeMap<(usize, &'a ProvisionName, Vec<String>), &'a ModuleKey>;

/// One need of one module on one node.
struct One<'a, 'm> {
    model: &'a Model<'m>,
    run: &'a Run,
    need: &'a At<Need>,
    answer: &'a Answer,
    made: &'a Provision,
}

impl<'a, 'm> One<'a, 'm> {
    /// None where what is needed or provided has been refused.
    fn of(model: &'a Model<'m>, run: &'a Run, answer: &'a Answer) -> Option<Self> {
        let need = &model.module(run).manifest.needs[&answer.local];
        Some(Self { model, run, need, answer, made: model.provision(answer)? })
    }

    fn decide(&self, taken: &mut Taken<'a>, out: &mut Vec<Refusal>) -> Map<String, Value> {
        let whole = self.fields(out);
        let values = self.values(out);
        if whole {
            self.claim(&values, taken, out);
        }
        values
    }

    fn local(&self) -> &'a LocalName {
        &self.answer.local
    }

    fn name(&self) -> &'a ProvisionName {
        &self.answer.provision
    }

    fn refuse(&self, code: Code, span: Span, message: String, help: String, out: &mut Vec<Refusal>) {
        let mut refusal = self.model.module(self.run).source.refuse(code, span, message, help);
        refusal.node = Some(self.run.key.node.clone());
        refusal.name = Some(self.local().to_string());
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
            let message = format!("`{}` does not take `{field}`", self.name());
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
                    self.name(),
                    self.local()
                );
                let help = format!(
                    "add it: `{}: {{provision: {}, with: {{{field}: …}}}}`",
                    self.local(),
                    self.name()
                );
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
        let (value, span) = match (self.need.value.with.get(field), &take.default) {
            // What may not stand there has been refused for that.
            (Some(input), _) if !Spot::With.allows(&input.value) => return None,
            (Some(input), _) => (Scope::of(self.model, self.run).input(&input.value), input.span),
            // A default that does not fit has been refused where it is written.
            (None, Some(input)) if !take.required && !self.made.unsure => {
                let provider = &self.model.runs[self.answer.by];
                let consumer = Some((&self.run.key, self.local()));
                let scope = Scope { consumer, ..Scope::of(self.model, provider) };
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
            self.name(),
            pattern.text
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
        let first = *taken.entry((self.answer.by, self.name(), said.clone())).or_insert(&self.run.key);
        let provider = &self.model.runs[self.answer.by].key;
        if first.module == self.run.key.module {
            return;
        }
        let what: Vec<String> =
            distinct.iter().zip(&said).map(|(field, value)| format!("{field} `{value}`")).collect();
        let message = format!(
            "`{}` and `{}` both hand the {} to `{}` of {}@{}",
            first.module,
            self.run.key.module,
            what.join(" and "),
            self.name(),
            provider.module,
            provider.node
        );
        let help = format!("give one of the two another {}", distinct[0]);
        let with = self.need.value.with.get(&distinct[0]);
        let span = with.map_or(self.need.span, |input| input.span);
        self.refuse(Code::ContributionTaken, span, message, help, out);
    }
}

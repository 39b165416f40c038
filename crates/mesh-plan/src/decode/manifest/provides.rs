//! Reads what a manifest provides.

use std::collections::BTreeSet;

use mesh_model::filter::plain;
use mesh_model::name::FieldName;
use mesh_model::refusal::Code;

use super::super::Reading;
use super::{input, make, map};
use crate::manifest::{Gives, Input, Names, Pattern, Provision, Take};
use crate::nearest::advice;
use crate::rules::fields::sources;
use crate::shape;
use crate::text::At;
use crate::yaml::{Entry, Node};

/// Reads one provision.
pub(super) fn provision(reading: &mut Reading<'_>, entry: &Entry) -> Option<Provision> {
    let before = reading.refusals.len();
    let fields = reading.place(&entry.value, &shape::PROVISION)?;
    let answers = match fields.get("answers") {
        Some(node) => reading.place_on_the_machine(node, "`answers`"),
        None => {
            let help = format!(
                "say where its provisioner writes its answers: `answers: \"${{dir.answers}}/{}.json\"`",
                entry.key
            );
            reading.missing(&fields, &["answers"], entry.span, help);
            None
        }
    };
    let takes = fields.get("takes").map(|node| map(reading, node, "`takes`", take)).unwrap_or_default();
    let gives = fields.get("gives").map(|node| map(reading, node, "`gives`", give)).unwrap_or_default();
    let known: Vec<&FieldName> = takes.keys().collect();
    let unsure = reading.refusals.len() > before;
    let distinct = fields.get("distinct").map(|node| distinct(reading, node, &known, unsure));
    let distinct = distinct.unwrap_or_default();
    let secret = secrets(&gives);
    Some(Provision { answers, takes, distinct, gives, secret, unsure: reading.refusals.len() > before })
}

/// The fields that are secret.
fn secrets(gives: &Names<FieldName, At<Gives>>) -> BTreeSet<FieldName> {
    let made = gives.iter().filter(|(_, give)| matches!(give.value, Gives::Secret { .. }));
    let mut secret: BTreeSet<FieldName> = made.map(|(name, _)| name.clone()).collect();
    loop {
        let more = gives.iter().filter(|(name, give)| match &give.value {
            Gives::From(text) => {
                !secret.contains(*name) && sources(text).any(|source| secret.contains(source))
            }
            _ => false,
        });
        let more: Vec<FieldName> = more.map(|(name, _)| name.clone()).collect();
        if more.is_empty() {
            return secret;
        }
        secret.extend(more);
    }
}

fn distinct(reading: &mut Reading<'_>, node: &Node, takes: &[&FieldName], unsure: bool) -> Vec<FieldName> {
    let mut out = Vec::new();
    for item in reading.items(node, "`distinct`") {
        let Some(name) = reading.named::<FieldName>(item, "a field of `distinct`") else { continue };
        if takes.contains(&&name.value) {
            out.push(name.value);
        } else if !unsure {
            let message = format!("`distinct` names `{}`, which `takes` does not", name.value);
            let help =
                advice(name.value.as_str(), "field in `takes`", takes.iter().map(|name| name.as_str()));
            reading.refuse_name(Code::BadValue, item.span, name.value.as_str(), message, help);
        }
    }
    out
}

fn take(reading: &mut Reading<'_>, entry: &Entry) -> Option<Take> {
    let fields = reading.place(&entry.value, &shape::TAKE)?;
    let default = fields.get("default").and_then(|node| input(reading, node, "`default`"));
    let required = fields.get("required").is_some_and(|node| reading.boolean(node, "`required`"));
    let pattern = fields.get("pattern").and_then(|node| pattern(reading, node));
    if let (Some(default), Some(pattern), Some(node)) = (&default, &pattern, fields.get("default")) {
        fits(reading, node, default, pattern);
    }
    Some(Take { default, required, pattern })
}

/// A default that never fits is the provider's fault, and told once: no consumer could do anything about it.
fn fits(reading: &mut Reading<'_>, node: &Node, default: &Input, pattern: &Pattern) {
    let text = match default {
        Input::Plain(value) => plain(value),
        Input::Text(text) => text.literal().map(str::to_owned),
    };
    let Some(text) = text.filter(|text| !pattern.regex.is_match(text)) else { return };
    let message = format!("the default `{text}` does not fit the pattern `{}`", pattern.text);
    let help = "write a default that fits the pattern as a whole, or another pattern";
    reading.refuse_name(Code::BadContribution, node.span, &text, message, help);
}

fn pattern(reading: &mut Reading<'_>, node: &Node) -> Option<Pattern> {
    /// Of the compiled expression, in bytes: `(a{1000}){1000}` is refused and not tried.
    const LIMIT: usize = 1 << 20;
    let text = reading.scalar(node, "`pattern`")?.text.clone();
    let build = |text: &str| regex::RegexBuilder::new(text).size_limit(LIMIT).build();
    match build(&text).and_then(|_| build(&format!(r"\A(?:{text})\z"))) {
        Ok(regex) => Some(Pattern { text, regex }),
        Err(error) => {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            let message = format!("`{text}` is not a regular expression: {why}");
            let help =
                "write one as the Rust crate `regex` reads it; it fits the whole text, without `^` and `$`";
            reading.refuse(Code::BadValue, node.span, message, help);
            None
        }
    }
}

fn give(reading: &mut Reading<'_>, entry: &Entry) -> Option<Gives> {
    let fields = reading.place(&entry.value, &shape::GIVE)?;
    let secret = fields.get("secret").is_some_and(|node| reading.boolean(node, "`secret`"));
    let (length, alphabet) = make(reading, &fields);
    let lost = ["length", "alphabet"].into_iter().filter(|key| fields.get(key).is_some());
    for key in lost.filter(|_| !secret && !fields.unsure("secret")) {
        let message = format!("the field `{}` has `{key}`, which is for a secret, and is none", entry.key);
        let help = format!("say `secret: true` too, or take `{key}` out");
        reading.refuse_name(Code::BadValue, fields.span(key), &entry.key, message, help);
    }
    match (fields.get("from"), secret) {
        (Some(_), true) => {
            let message = format!("the field `{}` is both `secret` and `from`", entry.key);
            let help =
                "keep one of the two; a field that is put together from a secret is a secret by itself";
            reading.refuse_name(Code::BadValue, fields.span("from"), &entry.key, message, help);
            None
        }
        (Some(node), false) => reading.text(node, "`from`").map(Gives::From),
        (None, true) => Some(Gives::Secret { length, alphabet }),
        (None, false) => Some(Gives::Value),
    }
}

//! Reads what a manifest provides.

use mesh_model::name::FieldName;
use mesh_model::refusal::Code;

use super::super::Reading;
use super::{input, make, map};
use crate::manifest::{Gives, Pattern, Provision, Take};
use crate::nearest::advice;
use crate::shape;
use crate::yaml::{Entry, Node};

/// Reads one provision.
pub(super) fn provision(reading: &mut Reading<'_>, entry: &Entry) -> Option<Provision> {
    let before = reading.refusals.len();
    let fields = reading.place(&entry.value, &shape::PROVISION)?;
    let answers = match fields.get("answers") {
        Some(node) => reading.text(node, "`answers`"),
        None => {
            let help = format!(
                "say where its provisioner writes its answers: `answers: \"${{dir.answers}}/{}.json\"`",
                entry.key
            );
            reading.missing(&fields, "answers", &entry.span, help);
            None
        }
    };
    let takes = fields.get("takes").map(|node| map(reading, node, "`takes`", take)).unwrap_or_default();
    let gives = fields.get("gives").map(|node| map(reading, node, "`gives`", give)).unwrap_or_default();
    let known: Vec<&FieldName> = takes.keys().collect();
    let unsure = reading.refusals.len() > before;
    let distinct = fields.get("distinct").map(|node| distinct(reading, node, &known, unsure));
    let distinct = distinct.unwrap_or_default();
    Some(Provision { answers, takes, distinct, gives, unsure: reading.refusals.len() > before })
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
            reading.refuse_name(Code::BadValue, &item.span, name.value.as_str(), message, help);
        }
    }
    out
}

fn take(reading: &mut Reading<'_>, entry: &Entry) -> Option<Take> {
    let fields = reading.place(&entry.value, &shape::TAKE)?;
    let default = fields.get("default").and_then(|node| input(reading, node, "`default`"));
    let required = fields.get("required").is_some_and(|node| reading.boolean(node, "`required`"));
    let pattern = fields.get("pattern").and_then(|node| pattern(reading, node));
    Some(Take { default, required, pattern })
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
            reading.refuse(Code::BadValue, &node.span, message, help);
            None
        }
    }
}

fn give(reading: &mut Reading<'_>, entry: &Entry) -> Option<Gives> {
    let fields = reading.place(&entry.value, &shape::GIVE)?;
    let secret = fields.get("secret").is_some_and(|node| reading.boolean(node, "`secret`"));
    let (length, alphabet) = make(reading, &fields);
    match (fields.get("from"), secret) {
        (Some(_), true) => {
            let message = format!("the field `{}` is both `secret` and `from`", entry.key);
            let help =
                "keep one of the two; a field that is put together from a secret is a secret by itself";
            reading.refuse_name(Code::BadValue, &fields.span("from"), &entry.key, message, help);
            None
        }
        (Some(node), false) => reading.text(node, "`from`").map(Gives::From),
        (None, true) => Some(Gives::Secret { length, alphabet }),
        (None, false) => Some(Gives::Value),
    }
}

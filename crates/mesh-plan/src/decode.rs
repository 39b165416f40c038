//! From a YAML tree to what it says, telling everything that is wrong on the way.
//!
//! A reader never stops at a fault: it tells it and leaves the thing out. Which keys there are is in [`crate::shape`];
//! one file here for each kind of file: [`mesh`] and [`manifest`].

pub(crate) mod manifest;
pub(crate) mod mesh;

use std::fmt::Display;
use std::str::FromStr;

use mesh_model::refusal::{Code, Refusal};

use crate::nearest::{advice, nearest};
use crate::shape::Place;
use crate::source::Source;
use crate::span::Span;
use crate::text::{At, Text};
use crate::yaml::{Entry, Node, Scalar, Style, Value};

/// Reads one file and keeps what is wrong with it.
pub(crate) struct Reading<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) refusals: Vec<Refusal>,
}

/// The values behind the keys of a place.
pub(crate) struct Fields<'n> {
    place: &'static Place,
    entries: &'n [Entry],
    span: Span,
    /// The keys that one which is not known is surely meant to be.
    meant: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// Whether a key may say something else than what can be read of it: it is misspelt somewhere, or here twice.
    pub(crate) fn unsure(&self, key: &str) -> bool {
        self.meant.contains(&key) || self.entries.iter().any(|entry| entry.key == key && entry.again)
    }

    /// What stands behind a key; none where it is left out.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        debug_assert!(self.place.keys.iter().any(|known| known.name == key), "`{key}` is in the table");
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Where a key stands, or the place that it belongs to.
    pub(crate) fn span(&self, key: &str) -> Span {
        let entry = self.entries.iter().find(|entry| entry.key == key);
        entry.map_or_else(|| self.span, |entry| entry.span)
    }
}

impl<'a> Reading<'a> {
    pub(crate) fn new(source: &'a Source<'a>) -> Self {
        Self { source, refusals: Vec::new() }
    }

    pub(crate) fn refuse(&mut self, code: Code, span: Span, message: String, help: impl Into<String>) {
        self.refusals.push(self.source.refuse(code, span, message, help.into()));
    }

    /// The same, about something with a name.
    pub(crate) fn refuse_name(
        &mut self,
        code: Code,
        span: Span,
        name: &str,
        message: String,
        help: impl Into<String>,
    ) {
        let mut refusal = self.source.refuse(code, span, message, help.into());
        refusal.name = Some(name.to_owned());
        self.refusals.push(refusal);
    }

    /// A value of the wrong shape.
    pub(crate) fn bad_value(&mut self, node: &Node, what: &str, wanted: &str) {
        let message = format!("{what} is {}, not {}", wanted, shown(node));
        self.refuse(
            Code::BadValue,
            first_line(self.source, node.span),
            message,
            format!("write {wanted} here"),
        );
    }

    /// A map with the keys of a place. Nothing is an empty one.
    pub(crate) fn place<'n>(&mut self, node: &'n Node, place: &'static Place) -> Option<Fields<'n>> {
        let entries = self.entries(node, place.what)?;
        let mut meant = Vec::new();
        for entry in entries {
            if !place.keys.iter().any(|key| key.name == entry.key) {
                self.unknown_key(entry, place);
                meant.extend(nearest(&entry.key, place.keys.iter().map(|key| key.name)));
            }
        }
        Some(Fields { place, entries, span: first_line(self.source, node.span), meant })
    }

    fn unknown_key(&mut self, entry: &Entry, place: &'static Place) {
        let message = format!("{} has no key `{}`", place.what, entry.key);
        let help = advice(&entry.key, "key", place.keys.iter().map(|key| key.name));
        self.refuse_name(Code::UnknownKey, entry.span, &entry.key, message, help);
    }

    /// The entries of a map. Nothing is an empty one.
    pub(crate) fn entries<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Entry]> {
        match &node.value {
            Value::Map(entries) => Some(entries),
            Value::Null => Some(&[]),
            _ => {
                self.bad_value(node, what, "a map");
                None
            }
        }
    }

    /// The items of a list.
    pub(crate) fn items<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        match &node.value {
            Value::List(items) => items,
            Value::Null => &[],
            _ => {
                self.bad_value(node, what, "a list");
                &[]
            }
        }
    }

    /// A text, a number or a truth value, as it was written.
    pub(crate) fn scalar<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n Scalar> {
        match &node.value {
            Value::Scalar(scalar) => Some(scalar),
            _ => {
                self.bad_value(node, what, "a text");
                None
            }
        }
    }

    /// A text with placeholders.
    pub(crate) fn text(&mut self, node: &Node, what: &str) -> Option<Text> {
        let scalar = self.scalar(node, what)?;
        Some(Text::new(&self.source.text, scalar, node.span))
    }

    /// A text that says where something is on the machine: no path from wherever a program happens to be started.
    pub(crate) fn place_on_the_machine(&mut self, node: &Node, what: &str) -> Option<Text> {
        let text = self.text(node, what)?;
        if text.faults().is_empty() && text.begins().is_some_and(|begins| !begins.starts_with('/')) {
            self.bad_value(node, what, "a whole path, like `/srv/x` or `${dir.NAME}/x`");
        }
        Some(text)
    }

    /// A list of texts with placeholders.
    pub(crate) fn texts(&mut self, node: &Node, what: &str) -> Vec<Text> {
        let items = self.items(node, what);
        items.iter().filter_map(|item| self.text(item, what)).collect()
    }

    /// A name of some kind.
    pub(crate) fn name<T: FromStr<Err: Display>>(&mut self, text: &str, span: Span) -> Option<T> {
        match text.parse() {
            Ok(name) => Some(name),
            Err(error) => {
                let error: T::Err = error;
                let message = error.to_string();
                let (message, help) = message.split_once(": ").unwrap_or((&message, ""));
                self.refuse_name(Code::BadName, span, text, message.to_owned(), help);
                None
            }
        }
    }

    /// A name of some kind behind a key.
    pub(crate) fn named<T: FromStr<Err: Display>>(&mut self, node: &Node, what: &str) -> Option<At<T>> {
        let scalar = self.scalar(node, what)?;
        Some(At::new(self.name(&scalar.text, node.span)?, node.span))
    }

    /// True or false.
    pub(crate) fn boolean(&mut self, node: &Node, what: &str) -> bool {
        match as_boolean(node) {
            Some(yes) => yes,
            None => {
                self.bad_value(node, what, "`true` or `false`");
                false
            }
        }
    }

    /// A whole number within limits.
    pub(crate) fn number(&mut self, node: &Node, what: &str, least: u16, most: u16) -> Option<u16> {
        let number = as_integer(node).and_then(|number| u16::try_from(number).ok());
        match number.filter(|number| (least..=most).contains(number)) {
            Some(number) => Some(number),
            None => {
                self.bad_value(node, what, &format!("a number from {least} to {most}"));
                None
            }
        }
    }

    /// One of a few words: its place among them.
    pub(crate) fn word(&mut self, node: &Node, what: &str, words: &[&str]) -> Option<usize> {
        let scalar = self.scalar(node, what)?;
        let found = words.iter().position(|word| *word == scalar.text);
        if found.is_none() {
            let message = format!("{what} cannot be `{}`", scalar.text);
            let help = advice(&scalar.text, "word", words.iter().copied());
            self.refuse_name(Code::BadValue, node.span, &scalar.text, message, help);
        }
        found
    }

    /// What has to be there and is not: one of these keys.
    pub(crate) fn missing(&mut self, fields: &Fields<'_>, keys: &[&str], span: Span, help: String) {
        // A word that is nearly one of the keys has been refused already, and is the cause.
        if keys.iter().any(|key| fields.unsure(key)) {
            return;
        }
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        let message = format!("{} has to say {}", fields.place.what, keys.join(" or "));
        self.refuse(Code::BadValue, span, message, help);
    }
}

/// The number that a node was written as, without quotes.
pub(crate) fn as_integer(node: &Node) -> Option<i64> {
    match &node.value {
        Value::Scalar(Scalar { text, style: Style::Plain }) => text.parse().ok(),
        _ => None,
    }
}

/// The truth value that a node was written as, without quotes.
pub(crate) fn as_boolean(node: &Node) -> Option<bool> {
    match &node.value {
        Value::Scalar(Scalar { text, style: Style::Plain }) => text.parse().ok(),
        _ => None,
    }
}

/// What a node is, in a message.
pub(crate) fn shown(node: &Node) -> String {
    match &node.value {
        Value::Null => "nothing".to_owned(),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
        Value::Scalar(scalar) => {
            let line = scalar.text.lines().next().unwrap_or_default();
            let short: String = line.chars().take(60).collect();
            let more = if short.len() < scalar.text.len() { "…" } else { "" };
            format!("`{short}{more}`")
        }
    }
}

/// A span cut to its first line: enough to see where a thing begins.
pub(crate) fn first_line(source: &Source<'_>, span: Span) -> Span {
    let text = source.text.get(span.range()).unwrap_or_default();
    let length = text.find('\n').unwrap_or(text.len());
    Span::new(span.start(), span.start() + length)
}

//! YAML as a tree in which everything knows where it stands.
//!
//! Strict, because a description is read by people too: a key twice, an anchor, an alias, a tag or a second document is
//! refused, and nothing is nested deeper than [`DEPTH`]. Nothing is expanded, so a file costs no more than its size. What
//! a plain text means (a number, true or false) is up to who asks for it: this tree knows texts alone.

mod places;

use std::collections::HashMap;

use mesh_model::refusal::Code;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};

use crate::span::Span;

pub(crate) use places::Places;

/// How deep lists and maps may be nested.
pub const DEPTH: usize = 32;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its bytes in the file.
    pub span: Span,
}

/// What YAML can say.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing: an empty place, `~` or `null`.
    Null,
    /// A text, a number, true or false: how it was written tells.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order in which it was written, each key once.
    Map(Vec<Entry>),
}

/// A text as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    /// The text.
    pub text: String,
    /// How it was written.
    pub style: Style,
}

/// How a text was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes: it may mean a number, true or false.
    Plain,
    /// In single quotes.
    Single,
    /// In double quotes, with escapes.
    Double,
    /// Behind `|` or `>`.
    Block,
}

/// A key of a map and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub span: Span,
    /// What stands behind it.
    pub value: Node,
    /// Whether it is here again, with something else behind it: that has been refused, and is left out.
    pub again: bool,
}

/// What is wrong with a text as YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What it is about.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// The bytes that are wrong.
    pub span: Span,
    /// The way out.
    pub help: String,
}

/// What came of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The tree; none where the text could not be read to its end.
    pub root: Option<Node>,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
}

/// Reads a text to its end, or to the first place where it is no YAML.
#[must_use]
pub fn parse(text: &str) -> Tree {
    if let Some(at) = text.find('\0') {
        let help = "text is UTF-8 without NUL, everywhere";
        return Tree::broken(fault(
            Code::BadSyntax,
            Span::new(at, at + 1),
            "the file holds a NUL character",
            help,
        ));
    }
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut builder = Builder::new(text, mark);
    for event in Parser::new_from_str(&text[mark..]) {
        if let Err(fault) = builder.event(event) {
            builder.faults.push(fault);
            return Tree { root: None, faults: builder.faults };
        }
    }
    let end = text.len();
    let root = builder.root.unwrap_or(Node { value: Value::Null, span: Span::new(end, end) });
    Tree { root: Some(root), faults: builder.faults }
}

/// Goes through a text as YAML and keeps nothing: how many events the parser told. What any reader costs at least.
#[must_use]
pub fn events(text: &str) -> usize {
    Parser::new_from_str(text).take_while(Result::is_ok).count()
}

impl Tree {
    fn broken(fault: Fault) -> Self {
        Self { root: None, faults: vec![fault] }
    }
}

fn fault(code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) -> Fault {
    Fault { code, message: message.into(), span, help: help.into() }
}

/// A list or a map that is not closed yet.
struct Open {
    start: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, places: KeyPlaces, key: Option<(String, Span)> },
}

/// Which entry of a map has a key: looked through where they are few, as nearly always, and kept beside where not.
#[derive(Default)]
struct KeyPlaces(HashMap<String, usize>);

impl KeyPlaces {
    const FEW: usize = 16;

    fn find(&self, entries: &[Entry], key: &str) -> Option<usize> {
        let few = entries.iter().take(Self::FEW).position(|entry| entry.key == key);
        few.or_else(|| self.0.get(key).copied())
    }

    /// Takes note of the key of the next entry.
    fn note(&mut self, entries: &[Entry], key: &str) {
        if entries.len() >= Self::FEW {
            self.0.insert(key.to_owned(), entries.len());
        }
    }
}

struct Builder<'a> {
    text: &'a str,
    mark: usize,
    /// The byte of each character, where not every character is one byte.
    bytes: Option<Vec<usize>>,
    stack: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    faults: Vec<Fault>,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str, mark: usize) -> Self {
        let body = &text[mark..];
        let bytes = (!body.is_ascii()).then(|| body.char_indices().map(|(at, _)| at + mark).collect());
        Self { text, mark, bytes, stack: Vec::new(), root: None, documents: 0, faults: Vec::new() }
    }

    fn byte(&self, character: usize) -> usize {
        match &self.bytes {
            Some(bytes) => bytes.get(character).copied().unwrap_or(self.text.len()),
            None => (character + self.mark).min(self.text.len()),
        }
    }

    fn span(&self, marked: &saphyr_parser::Span) -> Span {
        let start = self.byte(marked.start.index());
        Span::new(start, self.byte(marked.end.index()).max(start))
    }

    fn event(&mut self, event: Result<(Event<'_>, saphyr_parser::Span), ScanError>) -> Result<(), Fault> {
        let (event, marked) = event.map_err(|error| self.syntax(&error))?;
        let span = self.span(&marked);
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => self.document(span),
            Event::Alias(_) => Err(fault(
                Code::BadSyntax,
                span,
                "an alias (`*name`) is not used here",
                "write out what it stands for: a manifest says each thing where it is read",
            )),
            Event::Scalar(text, style, anchor, tag) => {
                refuse_marks(anchor, tag.is_some(), span)?;
                self.scalar(text.into_owned(), style, span)
            }
            Event::SequenceStart(anchor, tag) => {
                refuse_marks(anchor, tag.is_some(), span)?;
                self.open(span, OpenKind::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                refuse_marks(anchor, tag.is_some(), span)?;
                self.open(
                    span,
                    OpenKind::Map { entries: Vec::new(), places: KeyPlaces::default(), key: None },
                )
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.close(span);
                Ok(())
            }
        }
    }

    fn syntax(&self, error: &ScanError) -> Fault {
        let start = self.byte(error.marker().index());
        let end = self.text[start..].chars().next().map_or(start, |c| start + c.len_utf8());
        let help = "the text up to this place is YAML: look at what is just before it too, \
                    for a bracket or a quote that is not closed, or an indentation that differs";
        fault(Code::BadSyntax, Span::new(start, end), format!("this is not YAML: {}", error.info()), help)
    }

    fn document(&mut self, span: Span) -> Result<(), Fault> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        Err(fault(Code::BadSyntax, span, "a second document begins here", "one file holds one document"))
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, span: Span) -> Result<(), Fault> {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::Single,
            ScalarStyle::DoubleQuoted => Style::Double,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
        };
        if text.contains('\0') {
            return Err(fault(
                Code::BadSyntax,
                span,
                "this text holds a NUL character",
                "text is UTF-8 without NUL, everywhere",
            ));
        }
        if let Some(Open { kind: OpenKind::Map { key: key @ None, .. }, .. }) = self.stack.last_mut() {
            *key = Some((text, span));
            return Ok(());
        }
        let null = style == Style::Plain && matches!(text.as_str(), "" | "~" | "null");
        let value = if null { Value::Null } else { Value::Scalar(Scalar { text, style }) };
        self.put(Node { value, span });
        Ok(())
    }

    fn open(&mut self, span: Span, kind: OpenKind) -> Result<(), Fault> {
        if let Some(Open { kind: OpenKind::Map { key: None, .. }, .. }) = self.stack.last() {
            return Err(fault(
                Code::BadSyntax,
                span,
                "a key is a text here, not a list or a map",
                "write a name",
            ));
        }
        if self.stack.len() == DEPTH {
            let message = format!("this is nested deeper than {DEPTH} lists and maps");
            return Err(fault(Code::BadSyntax, span, message, "nothing in a description is nested so deep"));
        }
        self.stack.push(Open { start: span.start(), kind });
        Ok(())
    }

    fn close(&mut self, span: Span) {
        let Some(open) = self.stack.pop() else { return };
        // A block ends where its last value ends: the parser knows only that by then something else has begun.
        let bracket = self.text[span.range()].ends_with([']', '}']);
        let (value, last) = match open.kind {
            OpenKind::List(items) => {
                let last = items.last().map(|item| item.span.end());
                (Value::List(items), last)
            }
            OpenKind::Map { entries, .. } => {
                let last = entries.last().map(|entry| entry.value.span.end().max(entry.span.end()));
                (Value::Map(entries), last)
            }
        };
        let end = if bracket { span.end() } else { last.unwrap_or(open.start) };
        self.put(Node { value, span: Span::new(open.start, end.max(open.start)) });
    }

    fn put(&mut self, node: Node) {
        match self.stack.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(node),
            Some(OpenKind::List(items)) => items.push(node),
            Some(OpenKind::Map { entries, places, key }) => {
                let Some((key, span)) = key.take() else { return };
                if let Some(first) = places.find(entries, &key) {
                    entries[first].again = true;
                    self.faults.push(fault(
                        Code::DuplicateName,
                        span,
                        format!("`{key}` is here twice"),
                        "keep one of the two, or give one another name",
                    ));
                } else {
                    places.note(entries, &key);
                    entries.push(Entry { key, span, value: node, again: false });
                }
            }
        }
    }
}

fn refuse_marks(anchor: usize, tagged: bool, span: Span) -> Result<(), Fault> {
    let what = match (anchor, tagged) {
        (0, false) => return Ok(()),
        (0, true) => "a tag (`!name`) is not used here",
        _ => "an anchor (`&name`) is not used here",
    };
    Err(fault(Code::BadSyntax, span, what, "put text that begins with `!`, `&` or `*` in quotes"))
}

#[cfg(test)]
mod tests;

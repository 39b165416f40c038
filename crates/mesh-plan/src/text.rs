//! A text of a description: what it says, its placeholders, and where each stands in the file.

use std::ops::Range;

use mesh_model::placeholder::{FaultKind, Part, Placeholder, Template};

use crate::span::Span;
use crate::yaml::{Places, Scalar};

/// Something and where it stands in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// The thing.
    pub value: T,
    /// Its bytes in the file.
    pub span: Span,
}

impl<T> At<T> {
    pub(crate) fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

/// A text that may hold placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What it says, placeholders as they were written.
    pub text: Box<str>,
    /// Its bytes in the file.
    pub span: Span,
    /// The same, taken apart; none where there is nothing to take apart, as in most.
    parts: Option<Box<Parts>>,
}

/// A text, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts {
    template: Template,
    /// Where each placeholder stands in the file, in order.
    places: Vec<Span>,
    /// What is wrong with placeholders, and where in the file.
    faults: Vec<(FaultKind, Span)>,
}

impl Text {
    /// A text with its placeholders.
    pub(crate) fn new(file: &str, scalar: &Scalar, span: Span) -> Self {
        let parts = scalar.text.contains('$').then(|| {
            let mut map = Places::new(file, span, scalar.style, &scalar.text);
            Box::new(Parts::of(&scalar.text, |range| map.range(range)))
        });
        Self { text: scalar.text.as_str().into(), span, parts }
    }

    /// A whole file with its placeholders: what it says is what is written.
    pub(crate) fn whole(file: &str) -> Self {
        let parts = file.contains('$').then(|| Box::new(Parts::of(file, |range| range.clone().into())));
        Self { text: file.into(), span: Span::new(0, file.len()), parts }
    }

    /// A text in which `${` stands for itself.
    pub(crate) fn verbatim(scalar: &Scalar, span: Span) -> Self {
        Self { text: scalar.text.as_str().into(), span, parts: None }
    }

    /// Its placeholders, each with where it stands in the file.
    pub fn placeholders(&self) -> impl Iterator<Item = (&Placeholder, Span)> {
        let parts = self.parts.iter();
        parts.flat_map(|parts| parts.template.placeholders().zip(parts.places.iter().copied()))
    }

    /// What is wrong with placeholders, and where in the file.
    #[must_use]
    pub fn faults(&self) -> &[(FaultKind, Span)] {
        self.parts.as_ref().map(|parts| &parts.faults[..]).unwrap_or_default()
    }

    /// All that it says, where nothing in it is to be replaced.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.parts.as_ref().map(|parts| (&parts.template.parts[..], &parts.faults[..])) {
            None => Some(&self.text),
            // An escaped `${`, or a `$` that stands for itself.
            Some(([Part::Text(text)], [])) => Some(text),
            Some(_) => None,
        }
    }

    /// What it begins with, as far as that is written; none where it begins with a placeholder.
    pub(crate) fn begins(&self) -> Option<&str> {
        match self.parts.as_ref().map(|parts| parts.template.parts.first()) {
            None => Some(&self.text),
            Some(Some(Part::Text(text))) => Some(text),
            Some(Some(Part::Placeholder(_))) => None,
            Some(None) => Some(""),
        }
    }

    /// The one placeholder that it consists of.
    pub(crate) fn alone(&self) -> Option<&Placeholder> {
        let parts = self.parts.as_ref()?;
        match (&parts.template.parts[..], &parts.faults[..]) {
            ([Part::Placeholder(alone)], []) => Some(alone),
            _ => None,
        }
    }

    /// Its pieces in order, each placeholder with where it stands in the file; none where one of them is wrong.
    pub(crate) fn pieces(&self) -> Option<impl Iterator<Item = Piece<'_>>> {
        let parts = self.parts.as_ref();
        if parts.is_some_and(|parts| !parts.faults.is_empty()) {
            return None;
        }
        let whole = parts.is_none().then_some(Piece::Text(&self.text));
        let pieces = parts.into_iter().flat_map(|parts| {
            let mut places = parts.places.iter();
            parts.template.parts.iter().map(move |part| match part {
                Part::Text(text) => Piece::Text(text),
                Part::Placeholder(one) => Piece::Placeholder(one, places.next().copied().unwrap_or_default()),
            })
        });
        Some(whole.into_iter().chain(pieces))
    }
}

/// A piece of a text.
pub(crate) enum Piece<'a> {
    /// It stands for itself.
    Text(&'a str),
    /// It is to be replaced.
    Placeholder(&'a Placeholder, Span),
}

impl Parts {
    /// Takes a text apart; `place` says where a range of it stands, and is asked in order.
    fn of(text: &str, mut place: impl FnMut(&Range<usize>) -> Span) -> Self {
        let (template, found) = Template::parse(text);
        let mut places = Vec::with_capacity(template.placeholders().count());
        let mut faults = Vec::with_capacity(found.len());
        let mut found = found.into_iter().peekable();
        for placeholder in template.placeholders() {
            while let Some(fault) = found.next_if(|fault| fault.span.start < placeholder.span.start) {
                faults.push((fault.kind, place(&fault.span)));
            }
            places.push(place(&placeholder.span));
        }
        faults.extend(found.map(|fault| (fault.kind, place(&fault.span))));
        Self { template, places, faults }
    }
}

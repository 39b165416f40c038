//! A text of a description: what it says, its placeholders, and where each stands in the file.

use std::ops::Range;

use mesh_model::placeholder::{FaultKind, Part, Placeholder, Template};

use crate::yaml::{Places, Scalar};

/// Something and where it stands in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// The thing.
    pub value: T,
    /// Its bytes in the file.
    pub span: Range<usize>,
}

impl<T> At<T> {
    pub(crate) fn new(value: T, span: &Range<usize>) -> Self {
        Self { value, span: span.clone() }
    }
}

/// A text that may hold placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What it says, placeholders as they were written.
    pub text: String,
    /// Its bytes in the file.
    pub span: Range<usize>,
    /// The same, taken apart.
    pub template: Template,
    /// Where each placeholder stands in the file, in order.
    pub places: Vec<Range<usize>>,
    /// What is wrong with placeholders, and where in the file.
    pub faults: Vec<(FaultKind, Range<usize>)>,
}

impl Text {
    /// A text with its placeholders.
    pub(crate) fn new(file: &str, scalar: &Scalar, span: &Range<usize>) -> Self {
        let (template, found) = Template::parse(&scalar.text);
        let mut ranges: Vec<(Range<usize>, Option<FaultKind>)> =
            template.placeholders().map(|placeholder| (placeholder.span.clone(), None)).collect();
        ranges.extend(found.into_iter().map(|fault| (fault.span, Some(fault.kind))));
        ranges.sort_by_key(|(range, _)| range.start);
        let mut map = Places::new(file, span, scalar.style, &scalar.text);
        let (mut places, mut faults) = (Vec::new(), Vec::new());
        for (range, fault) in ranges {
            let place = map.range(&range);
            match fault {
                Some(kind) => faults.push((kind, place)),
                None => places.push(place),
            }
        }
        Self { text: scalar.text.clone(), span: span.clone(), template, places, faults }
    }

    /// A whole file with its placeholders: what it says is what is written.
    pub(crate) fn whole(file: &str) -> Self {
        let (template, found) = Template::parse(file);
        let places = template.placeholders().map(|placeholder| placeholder.span.clone()).collect();
        let faults = found.into_iter().map(|fault| (fault.kind, fault.span)).collect();
        Self { text: file.to_owned(), span: 0..file.len(), template, places, faults }
    }

    /// A text in which `${` stands for itself.
    pub(crate) fn verbatim(scalar: &Scalar, span: &Range<usize>) -> Self {
        let template = Template::verbatim(&scalar.text);
        Self {
            text: scalar.text.clone(),
            span: span.clone(),
            template,
            places: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// What it begins with, as far as that is written; none where it begins with a placeholder.
    pub(crate) fn begins(&self) -> Option<&str> {
        match self.template.parts.first() {
            Some(Part::Text(text)) => Some(text),
            Some(Part::Placeholder(_)) => None,
            None => Some(""),
        }
    }

    /// All that it says, where there is no placeholder in it.
    pub(crate) fn literal(&self) -> Option<&str> {
        let whole = self.faults.is_empty() && self.template.parts.len() <= 1;
        self.begins().filter(|_| whole)
    }

    /// Its placeholders, each with where it stands in the file.
    pub fn placeholders(&self) -> impl Iterator<Item = (&Placeholder, &Range<usize>)> {
        self.template.placeholders().zip(&self.places)
    }
}

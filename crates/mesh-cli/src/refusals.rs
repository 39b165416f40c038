//! Refusals as people see them: the cause first, the lines of the file with the place underlined, the way out below.
//!
//! Text alone comes of this; whether there is colour and how wide the terminal is, is told by who asks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use mesh_model::refusal::Refusal;

/// How it is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether there is colour.
    pub colour: Colour,
    /// How many columns there are.
    pub width: usize,
}

/// Whether there is colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// There is.
    Yes,
    /// There is none.
    No,
}

/// How bad the news are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// It could never work.
    Refused,
    /// It works, but is surely not meant.
    Warning,
}

/// Writes refusals or warnings, one below the other, with an empty line between. `texts` are the files of the description.
#[must_use]
pub fn render(refusals: &[Refusal], weight: Weight, texts: &BTreeMap<String, Vec<u8>>, look: Look) -> String {
    let renderer = match look.colour {
        Colour::Yes => Renderer::styled(),
        Colour::No => Renderer::plain(),
    };
    let renderer = renderer.term_width(look.width);
    let one = |refusal: &Refusal| {
        let text = texts.get(&refusal.file).map(|bytes| without_private_keys(String::from_utf8_lossy(bytes)));
        renderer.render(&[group(refusal, weight, text.as_ref(), look)]) + "\n"
    };
    let mut shown: Vec<String> = refusals.iter().take(MOST).map(one).collect();
    if let more @ 1.. = refusals.len().saturating_sub(MOST) {
        shown.push(format!("… and {more} more like these: `--format json` lists all of them\n"));
    }
    shown.join("\n")
}

/// How many are shown: nobody reads more, and each is drawn on its own.
const MOST: usize = 100;

fn group<'a>(refusal: &'a Refusal, weight: Weight, text: Option<&'a Cow<'a, str>>, look: Look) -> Group<'a> {
    let level = match weight {
        Weight::Refused => Level::ERROR.with_name("refused"),
        Weight::Warning => Level::WARNING,
    };
    // What stands before the message on its first line: `refused[no-provider]: `.
    let lead = level_name(weight).len() + refusal.code.as_str().len() + 4;
    let title = wrapped(&refusal.message, look.width.saturating_sub(lead));
    let group = level.primary_title(title).id(refusal.code.as_str());
    let gutter = refusal.line.to_string().len() + 3;
    let help =
        Level::HELP.message(wrapped(&refusal.help, look.width.saturating_sub(gutter + "help: ".len())));
    let group = match text.filter(|text| text.get(refusal.span.clone()).is_some() && !text.is_empty()) {
        Some(text) => group.element(
            Snippet::source(&**text)
                .path(&refusal.file)
                .fold(true)
                .annotation(AnnotationKind::Primary.span(refusal.span.clone())),
        ),
        None => group.element(Origin::path(&refusal.file).line(refusal.line).char_column(refusal.column)),
    };
    group.element(help)
}

/// The same length, so that every place stays where it is. Somebody may have written a private key where the public one
/// belongs, and refusals are printed where others read them.
fn without_private_keys(text: Cow<'_, str>) -> Cow<'_, str> {
    const BEGIN: &str = "AGE-SECRET-KEY-";
    if !text.contains(BEGIN) {
        return text;
    }
    let mut parts = text.split(BEGIN);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let key = part.len() - part.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).len();
        out.push_str(BEGIN);
        out.extend(std::iter::repeat_n('*', key));
        out.push_str(&part[key..]);
    }
    Cow::Owned(out)
}

fn level_name(weight: Weight) -> &'static str {
    match weight {
        Weight::Refused => "refused",
        Weight::Warning => "warning",
    }
}

/// A text in lines of at most `width` columns, where its words let it.
fn wrapped(text: &str, width: usize) -> String {
    let width = width.max(20);
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

/// How it all ended, in a line: `2 refused, 1 warning`.
#[must_use]
pub fn summary(refusals: usize, warnings: usize) -> String {
    let warned = match warnings {
        1 => "1 warning".to_owned(),
        many => format!("{many} warnings"),
    };
    match (refusals, warnings) {
        (0, 0) => "nothing is wrong".to_owned(),
        (0, _) => format!("nothing is refused, {warned}"),
        (_, 0) => format!("{refusals} refused"),
        _ => format!("{refusals} refused, {warned}"),
    }
}

#[cfg(test)]
mod tests;

//! How a value is written into a text: what stands behind `|` in a placeholder.
//!
//! Each filter has a reader that gets the same value back: a JSON or TOML parser, a URL parser, a shell, a dotenv reader.
//! That is what they are tested against. What a filter returns is never expanded again.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use thiserror::Error;

/// A way to write a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Filter {
    /// As JSON.
    Json,
    /// As a TOML value: text in quotes, numbers and booleans bare, a list in brackets.
    Toml,
    /// Percent-encoded: all but the unreserved characters of RFC 3986.
    Url,
    /// Quoted for a POSIX shell.
    Sh,
    /// Quoted for a dotenv file.
    Env,
    /// As standard base64 with padding.
    Base64,
    /// A list, an item a line.
    Lines,
}

/// A value that a filter cannot write.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FilterError {
    /// A list or an object for a filter of text.
    #[error("the filter `{0}` takes text, not a list or an object: end it in `json` or `lines`")]
    NotText(Filter),
    /// Something else than a list for `lines`.
    #[error("the filter `lines` takes a list of text")]
    NotAList,
    /// An item that would be two lines.
    #[error("item {0} of the list holds a line break, so `lines` cannot write it")]
    LineBreak(usize),
    /// A value that TOML does not have.
    #[error("TOML has no way to write this value")]
    NotToml,
}

impl Filter {
    /// Every filter.
    pub const ALL: [Self; 7] =
        [Self::Json, Self::Toml, Self::Url, Self::Sh, Self::Env, Self::Base64, Self::Lines];

    /// The word as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Toml => "toml",
            Self::Url => "url",
            Self::Sh => "sh",
            Self::Env => "env",
            Self::Base64 => "base64",
            Self::Lines => "lines",
        }
    }

    /// Whether it turns a list or an object into text.
    #[must_use]
    pub fn writes_compound(self) -> bool {
        matches!(self, Self::Json | Self::Lines)
    }

    /// Writes a value as text.
    ///
    /// # Errors
    /// Where the value is not of a shape that this filter can write.
    pub fn apply(self, value: &Value) -> Result<String, FilterError> {
        match self {
            Self::Json => Ok(value.to_string()),
            Self::Toml => toml(value),
            Self::Lines => lines(value),
            Self::Url => self.text(value).map(|text| url(&text)),
            Self::Sh => self.text(value).map(|text| format!("'{}'", text.replace('\'', r"'\''"))),
            Self::Env => self.text(value).map(|text| env(&text)),
            Self::Base64 => self.text(value).map(|text| data_encoding::BASE64.encode(text.as_bytes())),
        }
    }

    fn text(self, value: &Value) -> Result<String, FilterError> {
        plain(value).ok_or(FilterError::NotText(self))
    }
}

/// A value as it is without a filter; none where it is a list or an object.
#[must_use]
pub fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn url(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// In single quotes, which every reader of dotenv files takes as they are; in double quotes with a backslash before what a
/// reader would take for its own where the text holds a single quote or a backslash. A line break stays one: readers take
/// it inside quotes, and not all of them know `\n`. (A shell has a filter of its own.)
fn env(text: &str) -> String {
    if !text.contains(['\'', '\\']) {
        return format!("'{text}'");
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

fn lines(value: &Value) -> Result<String, FilterError> {
    let items = value.as_array().ok_or(FilterError::NotAList)?;
    let mut out = String::new();
    for (index, item) in items.iter().enumerate() {
        let text = plain(item).ok_or(FilterError::NotAList)?;
        if text.contains(['\n', '\r']) {
            return Err(FilterError::LineBreak(index + 1));
        }
        out.push_str(&text);
        if index + 1 < items.len() {
            out.push('\n');
        }
    }
    Ok(out)
}

fn toml(value: &Value) -> Result<String, FilterError> {
    match value {
        Value::String(text) => Ok(toml_text(text)),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(yes) => Ok(yes.to_string()),
        Value::Array(items) => {
            let items = items.iter().map(toml).collect::<Result<Vec<_>, _>>()?;
            Ok(format!("[{}]", items.join(", ")))
        }
        Value::Null | Value::Object(_) => Err(FilterError::NotToml),
    }
}

/// A basic string of TOML 1.0: control characters other than tab are escaped.
fn toml_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push('\t'),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A word that is no filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("that is not a filter")]
pub struct NotAFilter;

impl FromStr for Filter {
    type Err = NotAFilter;

    fn from_str(text: &str) -> Result<Self, NotAFilter> {
        Self::ALL.into_iter().find(|filter| filter.as_str() == text).ok_or(NotAFilter)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests;

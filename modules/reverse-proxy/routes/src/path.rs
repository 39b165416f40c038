//! The part of a host that a route covers: a path and everything below it.
//!
//! `/api` covers `/api` and `/api/x`, not `/apis`. A path with `.` or `..` in it, written out or escaped, means one thing
//! here and another at the target, so a route has none, and a request with one finds only what covers the whole host.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

/// The longest path of a route, in bytes.
const LONGEST: usize = 1024;

/// A path that begins with `/` and, unless it is the root, does not end with one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathPrefix(Arc<str>);

/// Why a text is no path of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PathError {
    /// Not absolute.
    #[error("it does not begin with `/`")]
    Relative,
    /// More than 1,024 bytes.
    #[error("it is longer than 1024 bytes")]
    TooLong,
    /// `//`, `/./` or `/../`.
    #[error("it has an empty part, or `.` or `..`")]
    Segment,
    /// What would have to be escaped, or is.
    #[error("it has a character other than letters, digits and `-._~!$&'()*+,;=:@`")]
    Character,
}

impl PathPrefix {
    /// The whole host.
    #[must_use]
    pub fn root() -> Self {
        Self("/".into())
    }

    /// Whether it is the whole host.
    #[must_use]
    pub fn is_root(&self) -> bool {
        &*self.0 == "/"
    }

    /// The path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a request's path is this one or below it.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        self.is_root()
            || path.strip_prefix(&*self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl FromStr for PathPrefix {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let inner = text.strip_prefix('/').ok_or(PathError::Relative)?;
        if inner.is_empty() {
            return Ok(Self::root());
        }
        if text.len() > LONGEST {
            return Err(PathError::TooLong);
        }
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        if !inner.bytes().all(|byte| byte == b'/' || is_plain(byte)) {
            return Err(PathError::Character);
        }
        if inner.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
            return Err(PathError::Segment);
        }
        Ok(Self(format!("/{inner}").into()))
    }
}

impl fmt::Display for PathPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// RFC 3986's `pchar`, without escapes.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

/// Whether a request's path could be read as another one than it says: a segment that is `.` or `..` in any spelling, a
/// separator that is escaped or turned around, or two in a row.
#[must_use]
pub fn is_ambiguous(path: &str) -> bool {
    let bytes = path.as_bytes();
    if !bytes.iter().any(|byte| matches!(byte, b'%' | b'\\' | b'.')) && !path.contains("//") {
        return false;
    }
    let lower = path.to_ascii_lowercase();
    if lower.contains("%2f") || lower.contains("%5c") || lower.contains('\\') || lower.contains("//") {
        return true;
    }
    // `..;x` is `..` to servers that take parameters off each segment.
    let plain = lower.replace("%2e", ".").replace("%3b", ";");
    plain.split('/').any(|segment| matches!(segment.split(';').next(), Some("." | "..")))
}

#[cfg(test)]
mod tests;

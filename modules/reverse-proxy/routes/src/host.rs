//! Host names, as routes have them and as clients send them.
//!
//! Start at [`HostName`] (what a route has, in its one spelling) and [`Authority`] (what a client sent). A client's is
//! read strictly: what two programs could read in two ways is no host at all. It resolves nothing.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

/// The longest name that DNS has, in bytes, without the last dot.
const LONGEST: usize = 253;

/// A name of a host, in lower case and without a last dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(Arc<str>);

/// Why a text is no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HostError {
    /// Nothing.
    #[error("it is empty")]
    Empty,
    /// More than 253 bytes, or a label of more than 63.
    #[error("it is longer than a name may be")]
    TooLong,
    /// A character that no host name has.
    #[error("it has a character that a host name does not have")]
    Character,
    /// `a..b`, `-a`, `a-`.
    #[error("it has a part that is empty, or that begins or ends with `-`")]
    Label,
    /// Not a number from 0 to 65535.
    #[error("its port is no port")]
    Port,
}

impl HostName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HostName {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let name = without_last_dot(text);
        check(name)?;
        Ok(Self(name.to_ascii_lowercase().into()))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for HostName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// What a client sent as `Host` or `:authority`: a name, or an address, and perhaps a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority<'t> {
    /// The name in its one spelling; borrowed where it was sent so.
    pub host: Cow<'t, str>,
    /// The port, where there is one.
    pub port: Option<u16>,
}

impl<'t> Authority<'t> {
    /// Reads what a client sent.
    ///
    /// # Errors
    /// Where it is anything but one host and at most one port: no user, no list, no blanks, no escapes.
    pub fn parse(text: &'t str) -> Result<Self, HostError> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, rest) = rest.split_once(']').ok_or(HostError::Character)?;
                address.parse::<std::net::Ipv6Addr>().map_err(|_| HostError::Character)?;
                let end = text.len() - rest.len();
                (&text[..end], rest)
            }
            None => {
                let end = text.find(':').unwrap_or(text.len());
                let host = without_last_dot(&text[..end]);
                check(host)?;
                (host, &text[end..])
            }
        };
        let port = match port.strip_prefix(':') {
            // `host:` is allowed by the grammar, and means the default.
            Some("") => None,
            Some(digits) => Some(self::port(digits)?),
            None if port.is_empty() => None,
            None => return Err(HostError::Character),
        };
        let host = match host.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(host.to_ascii_lowercase()),
            false => Cow::Borrowed(host),
        };
        Ok(Self { host, port })
    }
}

fn port(digits: &str) -> Result<u16, HostError> {
    // `parse` alone would take `+80`.
    match digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => digits.parse().map_err(|_| HostError::Port),
        false => Err(HostError::Port),
    }
}

fn without_last_dot(text: &str) -> &str {
    text.strip_suffix('.').unwrap_or(text)
}

fn check(name: &str) -> Result<(), HostError> {
    if name.is_empty() {
        return Err(HostError::Empty);
    }
    if name.len() > LONGEST {
        return Err(HostError::TooLong);
    }
    name.split('.').try_for_each(label)
}

/// Letters, digits, `-` and `_`: the last is in no host name by the book, and in many by use.
fn label(label: &str) -> Result<(), HostError> {
    let bytes = label.as_bytes();
    match bytes {
        [] | [b'-', ..] | [.., b'-'] => Err(HostError::Label),
        _ if bytes.len() > 63 => Err(HostError::TooLong),
        _ if bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) => Ok(()),
        _ => Err(HostError::Character),
    }
}

#[cfg(test)]
mod tests;

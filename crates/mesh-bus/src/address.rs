//! Where the bus is, and by whose certificate it proves to be the one.
//!
//! With several addresses (of the servers of one cluster) whichever answers is good. A bus on the loopback alone has no
//! certificate; any other is believed only where its certificate is from the mesh's own authority ([`crate::tls`]).

use std::fmt;
use std::path::PathBuf;

use async_nats::ServerAddr;
use thiserror::Error;

/// The port of a bus that others reach, where no other is named.
pub const PORT: u16 = 7422;

/// Where the bus is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// `tls://host:port` each, or `nats://127.0.0.1:port` for one in the open.
    pub urls: Vec<String>,
    /// The file with the certificate of the mesh's authority, in PEM; none for a bus in the open.
    pub ca: Option<PathBuf>,
}

/// A text is no address of a bus.
#[derive(Debug, Error)]
#[error("`{url}` is no address of a bus")]
pub struct AddressError {
    /// The text.
    pub url: String,
    /// Why not.
    #[source]
    pub source: std::io::Error,
}

impl Address {
    /// One in the open.
    #[must_use]
    pub fn open(url: impl Into<String>) -> Self {
        Self { urls: vec![url.into()], ca: None }
    }

    /// As the client wants them.
    pub(crate) fn servers(&self) -> Result<Vec<ServerAddr>, AddressError> {
        let parse = |url: &String| url.parse().map_err(|source| AddressError { url: url.clone(), source });
        self.urls.iter().map(parse).collect()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.urls.join(", "))
    }
}

impl From<&str> for Address {
    fn from(url: &str) -> Self {
        Self::open(url)
    }
}

impl From<&String> for Address {
    fn from(url: &String) -> Self {
        Self::open(url)
    }
}

impl From<&Self> for Address {
    fn from(address: &Self) -> Self {
        address.clone()
    }
}

/// A host as it stands in an address: one of IPv6 in brackets.
#[must_use]
pub fn url(host: &str, port: u16) -> String {
    match host.parse() {
        Ok(std::net::IpAddr::V6(_)) => format!("tls://[{host}]:{port}"),
        _ => format!("tls://{host}:{port}"),
    }
}

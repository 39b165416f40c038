//! What one consumer asks for: a name, and the target that requests for it go to.
//!
//! The target's machine is the one that the contribution carries. What is wrong with it is said to that consumer and
//! touches no other.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU16;
use std::sync::Arc;

use mesh_model::name::NodeName;
use mesh_provider::{Consumer, ConsumerId};
use serde_json::Value;
use thiserror::Error;

use crate::host::{HostError, HostName};
use crate::path::{PathError, PathPrefix};

/// What one consumer asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The name.
    pub name: HostName,
    /// The part of it that is asked for.
    pub path: PathPrefix,
    /// Where requests go.
    pub target: Target,
}

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Whose it is.
    pub consumer: ConsumerId,
    /// Its machine, as it is reached from here.
    pub address: Address,
    /// Its port.
    pub port: NonZeroU16,
    /// How it is spoken to.
    pub scheme: Scheme,
}

/// The address of a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// As a number.
    Ip(IpAddr),
    /// As a name, to be looked up at each connection.
    Name(Arc<str>),
}

/// How a target is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// HTTP/1.1.
    Http,
    /// HTTP/1.1 or 2 over TLS.
    Https,
    /// HTTP/2 without TLS, as gRPC servers speak it.
    H2c,
}

/// Why a consumer's contribution is no claim.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClaimError {
    /// Left out, or neither text nor number.
    #[error("the contribution has no `{field}`")]
    Missing {
        /// Which one.
        field: &'static str,
    },
    /// Not a host name.
    #[error("`{text}` is no host name: {source}")]
    Name {
        /// What was handed over.
        text: String,
        /// Why.
        source: HostError,
    },
    /// Not a path of a route.
    #[error("`{text}` is no path of a route: {source}")]
    Path {
        /// What was handed over.
        text: String,
        /// Why.
        source: PathError,
    },
    /// Not a number from 1 to 65535.
    #[error("`{text}` is no port: a number from 1 to 65535 is")]
    Port {
        /// What was handed over.
        text: String,
    },
    /// Not one of the known ones.
    #[error("`{text}` is no scheme of a target: `http`, `https` and `h2c` are")]
    Scheme {
        /// What was handed over.
        text: String,
    },
    /// Nobody could reach it.
    #[error("its machine `{node}` has no address: give it one in mesh.yaml")]
    Address {
        /// The consumer's machine.
        node: NodeName,
    },
}

impl Claim {
    /// Reads what a consumer hands over to the provider on that node.
    ///
    /// # Errors
    /// Where it is no claim.
    pub fn read(consumer: &Consumer, here: &NodeName) -> Result<Self, ClaimError> {
        let field = |field: &'static str| consumer.contribution.get(field).and_then(plain);
        let needed = |name: &'static str| field(name).ok_or(ClaimError::Missing { field: name });
        let text = needed("name")?;
        let name = text.parse().map_err(|source| ClaimError::Name { text, source })?;
        let path = match field("path") {
            None => PathPrefix::root(),
            Some(text) => text.parse().map_err(|source| ClaimError::Path { text, source })?,
        };
        let text = needed("port")?;
        let port = text.parse().map_err(|_| ClaimError::Port { text })?;
        let scheme = match field("scheme").as_deref() {
            None | Some("http") => Scheme::Http,
            Some("https") => Scheme::Https,
            Some("h2c") => Scheme::H2c,
            Some(text) => return Err(ClaimError::Scheme { text: text.to_owned() }),
        };
        let address = Address::of(consumer, here)?;
        let target = Target { consumer: consumer.id.clone(), address, port, scheme };
        Ok(Self { name, path, target })
    }
}

impl Address {
    /// As `access` has it: loopback where it is the same machine, so that a module which listens there alone is reached.
    fn of(consumer: &Consumer, here: &NodeName) -> Result<Self, ClaimError> {
        let machine = &consumer.machine;
        if machine.name == *here {
            return Ok(Self::Ip(Ipv4Addr::LOCALHOST.into()));
        }
        let Some(address) = &machine.address else {
            return Err(ClaimError::Address { node: machine.name.clone() });
        };
        let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
        Ok(bare.parse().map_or_else(|_| Self::Name(address.as_str().into()), Self::Ip))
    }
}

/// Text and numbers are handed over alike: `port: 8080` and `port: "8080"`.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(IpAddr::V4(address)) => address.fmt(f),
            Self::Ip(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { consumer, address, port, .. } = self;
        write!(f, "{}@{} at {address}:{port}", consumer.module, consumer.node)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::H2c => "h2c",
        })
    }
}

#[cfg(test)]
mod tests;

//! Who somebody is on the bus: the accounts, and the users of `BUS`.
//!
//! A name here is three things at once: what the account's key is derived from, the name in its token, and the
//! beginning of its consumers' names. So the kinds are kept apart by `=`, which no name can hold: an operator
//! `attic` is never the node `attic`, and a node called `mesh-vault` never the seat. Who is only invited is an account too,
//! which may ask to join and nothing else.

use std::fmt;
use std::str::FromStr;

use mesh_model::key::ModuleKey;
use mesh_model::name::{NameError, NodeName, OperatorName, ProvisionName, SeatName};
use mesh_model::wire::Invitee;

/// Somebody with an identity on the bus.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// A node: an account of its own.
    Node(NodeName),
    /// A module on a node, which has an account of its own beside the node's (`runs-as: own`).
    Module(ModuleKey),
    /// A person who may apply: an account of their own.
    Operator(OperatorName),
    /// A seat: a user of `BUS`, since its program is trusted wholly.
    Seat(SeatName),
    /// What a seat keeps for itself: an account with streams of its own, which offers nothing to anybody.
    Store(SeatName),
    /// Somebody who may join: an account of its own.
    Invited(Invitee),
}

impl Account {
    /// The account that somebody has once they joined.
    #[must_use]
    pub fn of(invitee: &Invitee) -> Self {
        match invitee {
            Invitee::Node(node) => Self::Node(node.clone()),
            Invitee::Operator(name) => Self::Operator(name.clone()),
        }
    }

    /// Whether it reaches `BUS` by imports alone, having an account of its own.
    #[must_use]
    pub fn is_apart(&self) -> bool {
        !matches!(self, Self::Seat(_) | Self::Store(_))
    }

    /// What a consumer of this account is called for one use; whoever knows the account knows all its
    /// consumers.
    pub(crate) fn consumer(&self, usage: &Usage) -> String {
        format!("{self}-{}", usage.0)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "{node}"),
            Self::Module(ModuleKey { node, module }) => write!(f, "module={node}={module}"),
            Self::Operator(name) => write!(f, "operator={name}"),
            Self::Seat(seat) => write!(f, "seat={seat}"),
            Self::Store(seat) => write!(f, "store={seat}"),
            Self::Invited(invitee) => write!(f, "invited={}", Self::of(invitee)),
        }
    }
}

impl FromStr for Account {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Ok(match text.split_once('=') {
            Some(("module", place)) => {
                let (node, module) = place.split_once('=').unwrap_or((place, ""));
                Self::Module(ModuleKey { node: node.parse()?, module: module.parse()? })
            }
            Some(("operator", name)) => Self::Operator(name.parse()?),
            Some(("seat", seat)) => Self::Seat(seat.parse()?),
            Some(("store", seat)) => Self::Store(seat.parse()?),
            Some(("invited", invitee)) => Self::Invited(match invitee.split_once('=') {
                Some(("operator", name)) => Invitee::Operator(name.parse()?),
                _ => Invitee::Node(invitee.parse()?),
            }),
            _ => Self::Node(text.parse()?),
        })
    }
}

/// What a consumer is for: the last part of its name, free of `-` so that it says where the account's name
/// ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usage(String);

impl Usage {
    /// Reading all that one may of a bucket.
    #[must_use]
    pub fn read() -> Self {
        Self("read".to_owned())
    }

    /// Reading the consumers of one provision.
    #[must_use]
    pub fn consumers(provision: &ProvisionName) -> Self {
        Self(format!("consumers={}", provision.as_str().replace('-', "=2D")))
    }
}

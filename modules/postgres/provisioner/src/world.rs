//! PostgreSQL as the rest of this program sees it: a few things that can be asked and done.

mod postgres;

use std::error::Error as _;
use std::path::PathBuf;
use std::time::Duration;

use mesh_provider::Secret;
use thiserror::Error;

use crate::marker::Maker;
use crate::name::{DatabaseName, RoleName};
use crate::plan::Observed;
use crate::scram::Verifiers;

pub(crate) use postgres::{Address, Postgres, read_password};

/// Which of two connections: two databases made at once take half the time, four no less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    First,
    Second,
}

/// One server.
pub(crate) trait World {
    /// Keeps every other run away from the server, and waits for what one that was killed has left at work.
    async fn begin(&self) -> Result<(), WorldError>;

    /// Lets others at the server again.
    async fn end(&mut self) -> Result<(), WorldError>;

    /// All roles, memberships and databases: one query each.
    async fn observe(&mut self, maker: &Maker, verifiers: &Verifiers) -> Result<Observed, WorldError>;

    /// Runs statements, all or none where they can be in a transaction.
    async fn execute(&self, lane: Lane, statements: &str) -> Result<(), WorldError>;

    /// Ends every session of these roles, and sees that they ended.
    async fn end_sessions(&self, roles: &[RoleName]) -> Result<(), WorldError>;

    /// Logs in as a consumer would, and says as which role it acts.
    async fn log_in(
        &self,
        role: &RoleName,
        password: &Secret,
        database: &DatabaseName,
    ) -> Result<RoleName, WorldError>;

    /// Drops a login. What it owns itself goes to the owner of the database that it is in.
    async fn drop_login(&self, role: &RoleName) -> Result<(), WorldError>;
}

/// Why something could not be done.
#[derive(Debug, Error)]
pub(crate) enum WorldError {
    /// Without it, nobody can be served.
    #[error("could not read the superuser's password from `{path}`")]
    Password {
        /// The file.
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("could not connect to PostgreSQL at {address} as `{user}`")]
    Connect {
        address: String,
        user: String,
        #[source]
        source: Said,
    },
    #[error("could not {doing}")]
    Ask {
        doing: &'static str,
        #[source]
        source: Said,
    },
    #[error("could not {doing} within {within:?}")]
    Late { doing: &'static str, within: Duration },
    #[error("PostgreSQL went away")]
    Gone,
    #[error("`{role}` still has {count} sessions")]
    Sessions { role: String, count: i64 },
}

/// What PostgreSQL said, without the statement and without saying it twice.
#[derive(Debug, Error)]
#[error("{}", self.text())]
pub(crate) struct Said(pub(crate) tokio_postgres::Error);

impl Said {
    fn text(&self) -> String {
        match (self.0.as_db_error(), self.0.source()) {
            (Some(said), _) => format!("{} ({})", said.message(), said.code().code()),
            (None, Some(cause)) => cause.to_string(),
            (None, None) => self.0.to_string(),
        }
    }

    /// Whether the server went away, is starting or is stopping.
    fn is_gone(&self) -> bool {
        let io = self.0.source().is_some_and(|cause| cause.is::<std::io::Error>());
        io || self.0.is_closed() || self.0.code().is_some_and(|code| code.code().starts_with("57P0"))
    }

    pub(crate) fn is(&self, code: &tokio_postgres::error::SqlState) -> bool {
        self.0.code() == Some(code)
    }
}

impl WorldError {
    /// Whether it is the server as a whole that cannot be worked with, not this one thing.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Password { .. } | Self::Gone => true,
            Self::Connect { source, .. } | Self::Ask { source, .. } => source.is_gone(),
            Self::Late { .. } | Self::Sessions { .. } => false,
        }
    }
}

//! Logging in to a PostgreSQL as somebody.

use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error, NoTls};

/// Somebody who is logged in.
pub(crate) struct Session {
    runtime: Runtime,
    client: Client,
}

impl Session {
    /// Logs in with a URL.
    pub(crate) fn open(url: &str) -> Result<Self, Error> {
        Self::enter(&config(url))
    }

    /// Logs in.
    pub(crate) fn enter(config: &Config) -> Result<Self, Error> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let (client, connection) = runtime.block_on(config.connect(NoTls))?;
        runtime.spawn(connection);
        Ok(Self { runtime, client })
    }

    /// Runs statements that answer nothing.
    pub(crate) fn run(&self, sql: &str) -> Result<(), Error> {
        self.runtime.block_on(self.client.batch_execute(sql))
    }

    /// The first column of what a query answers, as text.
    pub(crate) fn ask(&self, sql: &str) -> Result<Vec<String>, Error> {
        let rows = self.runtime.block_on(self.client.query(sql, &[]))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

/// How a URL says to log in.
pub(crate) fn config(url: &str) -> Config {
    let mut config: Config = url.parse().unwrap();
    config.connect_timeout(Duration::from_secs(20));
    config
}

/// Why somebody is not let in.
pub(crate) fn refused(config: &Config) -> SqlState {
    match Session::enter(config) {
        Ok(_) => panic!("let in: {config:?}"),
        Err(error) => error.code().unwrap_or_else(|| panic!("not refused, but: {error}")).clone(),
    }
}

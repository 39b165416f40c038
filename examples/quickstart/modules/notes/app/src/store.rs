//! The notes in their database: one connection, made when it is first needed and again whenever it was lost.
//!
//! A database that is away is an error of one request, never the end of the program. Every statement here may be said
//! twice without harm, so the one that found the connection broken is said once more on a new one.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row};

/// How many notes a page shows.
pub(crate) const PAGE: usize = 50;

/// How long one request waits for the database, a new connection included.
const PATIENCE: Duration = Duration::from_secs(5);

/// Two of this application may start at once on an empty database: the lock lets one of them make the table.
const PREPARE: &str = "
    BEGIN;
    SELECT pg_advisory_xact_lock(hashtext('notes: make the table'));
    CREATE TABLE IF NOT EXISTS notes (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        written timestamptz NOT NULL DEFAULT now(),
        body text NOT NULL,
        form text NOT NULL UNIQUE
    );
    COMMIT";

const LATEST: &str = "
    SELECT id, body, to_char(written AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI\"Z\"')
    FROM notes WHERE id < $1 ORDER BY id DESC LIMIT $2";

const WRITE: &str = "INSERT INTO notes (body, form) VALUES ($1, $2) ON CONFLICT (form) DO NOTHING";

/// One note.
#[derive(Debug, PartialEq)]
pub(crate) struct Note {
    pub(crate) id: i64,
    pub(crate) body: String,
    /// UTC, to the minute: `2026-12-01T09:30Z`.
    pub(crate) written: String,
}

/// The notes of one database.
pub(crate) struct Store {
    config: tokio_postgres::Config,
    link: Mutex<Option<Link>>,
}

/// A connection, and the task that moves its bytes; dropping it ends both.
struct Link {
    client: Arc<Client>,
    _driver: JoinSet<()>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot connect to the database at {address}")]
    Connect { address: String, source: tokio_postgres::Error },
    #[error("cannot prepare the database at {address}")]
    Prepare { address: String, source: tokio_postgres::Error },
    #[error("cannot {doing} in the database at {address}")]
    Query { doing: &'static str, address: String, source: tokio_postgres::Error },
    #[error("the database at {address} did not answer within {} s", PATIENCE.as_secs())]
    Silent { address: String },
}

impl Store {
    /// A store in the database that `config` leads to. Nothing is connected yet.
    pub(crate) fn new(config: tokio_postgres::Config) -> Store {
        Store { config, link: Mutex::new(None) }
    }

    /// Up to one note more than a page shows, the newest first, all older than the note `before`.
    pub(crate) async fn latest(&self, before: Option<i64>) -> Result<Vec<Note>, Error> {
        let before = before.unwrap_or(i64::MAX);
        let rows = self.query("read the notes", LATEST, &[&before, &(PAGE as i64 + 1)]).await?;
        Ok(rows.iter().map(|row| Note { id: row.get(0), body: row.get(1), written: row.get(2) }).collect())
    }

    /// Keeps a note; the second time for the same form, nothing is done.
    pub(crate) async fn write(&self, body: &str, form: &str) -> Result<(), Error> {
        self.query("write a note", WRITE, &[&body, &form]).await.map(drop)
    }

    /// Whether the database answers now.
    pub(crate) async fn answers(&self) -> Result<(), Error> {
        self.query("ask for a sign of life", "SELECT 1", &[]).await.map(drop)
    }

    async fn query(
        &self,
        doing: &'static str,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        let answer = async {
            let client = self.client().await?;
            let rows = match client.query(sql, values).await {
                Err(error) if error.is_closed() || client.is_closed() => {
                    self.forget(&client).await;
                    self.client().await?.query(sql, values).await
                }
                rows => rows,
            };
            rows.map_err(|source| Error::Query { doing, address: self.address(), source })
        };
        match timeout(PATIENCE, answer).await {
            Ok(rows) => rows,
            Err(_) => {
                // Whatever hangs may hang for ever: the next request starts with a connection of its own.
                self.link.lock().await.take();
                Err(Error::Silent { address: self.address() })
            }
        }
    }

    async fn client(&self) -> Result<Arc<Client>, Error> {
        let mut link = self.link.lock().await;
        if let Some(link) = link.as_ref().filter(|link| !link.client.is_closed()) {
            return Ok(link.client.clone());
        }
        *link = None;
        let new = self.connect().await?;
        let client = new.client.clone();
        *link = Some(new);
        Ok(client)
    }

    async fn forget(&self, client: &Arc<Client>) {
        let mut link = self.link.lock().await;
        link.take_if(|link| Arc::ptr_eq(&link.client, client));
    }

    async fn connect(&self) -> Result<Link, Error> {
        let connected = self.config.connect(NoTls).await;
        let (client, connection) =
            connected.map_err(|source| Error::Connect { address: self.address(), source })?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!("the connection to the database was lost: {}", chain(&error));
            }
        });
        let prepared = client.batch_execute(PREPARE).await;
        prepared.map_err(|source| Error::Prepare { address: self.address(), source })?;
        tracing::info!("connected to the database at {}", self.address());
        Ok(Link { client: Arc::new(client), _driver: driver })
    }

    /// Where the database is, without user and password.
    fn address(&self) -> String {
        use tokio_postgres::config::Host;
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            Some(Host::Unix(path)) => path.display().to_string(),
            None => "localhost".to_owned(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or("?");
        format!("{host}:{port}/{database}")
    }
}

/// An error and all that caused it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Some libraries repeat their cause in their own text.
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

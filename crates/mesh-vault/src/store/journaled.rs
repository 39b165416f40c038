//! The store beside its journal: what it notes goes there first, and what others noted comes from there.
//!
//! The journal is a stream on the bus ([`mesh_bus::journal`]); the store knows up to which place of which log it has all of it.
//! A change is appended, and acknowledged, before it is committed here: so nothing is ever answered that who stands by could not
//! read. Where the append is refused, or nobody knows what came of it, nothing is committed.

use std::sync::{Arc, PoisonError};

use ::redb::ReadableTable as _;
use mesh_bus::journal::{JournalError, Line, Row};

use super::redb::{RedbStore, Tables};
use super::{StoreError, noted};

/// Where changes are appended before they are committed.
pub trait Journal: Send + Sync + std::fmt::Debug {
    /// Appends rows as one; returns the place of the last.
    ///
    /// # Errors
    /// Where they are not there, or where nobody knows.
    fn append(&self, rows: &[Row]) -> Result<u64, JournalError>;
}

/// How much of which log a store has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Followed {
    /// Which log; 0 for none.
    pub log: u64,
    /// Up to where.
    pub sequence: u64,
    /// The file is new, and the vault is not: what it kept is in the log, or lost.
    pub is_lost: bool,
}

const LOG: &str = "log";
const SEQUENCE: &str = "followed";
const LOST: &str = "lost";

impl RedbStore {
    /// From now on, changes go to this journal first.
    pub fn attach(&self, journal: Arc<dyn Journal>) {
        *self.1.lock().unwrap_or_else(PoisonError::into_inner) = Some(journal);
    }

    /// How much of which log it has.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn followed(&self) -> Result<Followed, StoreError> {
        self.write("reading how far it followed", |tables| {
            let number =
                |name| Ok::<_, ::redb::Error>(tables.about.get(name)?.map_or(0, |number| number.value()));
            Ok(Followed { log: number(LOG)?, sequence: number(SEQUENCE)?, is_lost: number(LOST)? != 0 })
        })
    }

    /// Says how much of which log it has.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn follow(&self, followed: Followed) -> Result<(), StoreError> {
        self.write("writing how far it followed", |tables| Ok(set(tables, followed)?))
    }

    /// Everything that it keeps, as rows, as of one moment.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn dump(&self) -> Result<Vec<Row>, StoreError> {
        self.write("reading all that is kept", |tables| Ok(tables.rows()?))
    }

    /// Takes up what others noted: lines of a log that it has not yet.
    ///
    /// # Errors
    /// Where it cannot be written, or a line is of a newer program.
    pub fn replay(&self, log: u64, lines: &[Line]) -> Result<(), StoreError> {
        let mut unknown = None;
        self.write("following the log", |tables| {
            let before = tables.about.get(SEQUENCE)?.map_or(0, |number| number.value());
            let new = lines.iter().filter(|line| line.sequence > before);
            for line in new.clone() {
                if !line.row.key.starts_with("about.") && !tables.put_back(&line.row)? {
                    unknown = Some(line.row.key.clone());
                }
            }
            let sequence = new.map(|line| line.sequence).max().unwrap_or(before);
            Ok(set(tables, Followed { log, sequence, is_lost: false })?)
        })?;
        match unknown {
            None => Ok(()),
            Some(key) => Err(StoreError::Row { key }),
        }
    }

    /// Forgets everything, to take up another log from its beginning.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin_anew(&self, log: u64) -> Result<(), StoreError> {
        self.write("beginning anew", |tables| {
            tables.clear()?;
            Ok(set(tables, Followed { log, sequence: 0, is_lost: false })?)
        })
    }

    /// Appends what was noted, where there is a journal, and notes up to where that is.
    pub(super) fn append(&self, notes: &noted::Notes, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let journal = self.1.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(journal) = journal else { return Ok(()) };
        let rows = notes.take();
        if rows.is_empty() {
            return Ok(());
        }
        let sequence = journal.append(&rows).map_err(|source| StoreError::Journal { source })?;
        let noted = tables.about.insert(SEQUENCE, sequence).map(drop);
        noted.map_err(|error| StoreError::Database {
            doing: "noting the log's place",
            source: Box::new(error.into()),
        })
    }
}

fn set(tables: &mut Tables<'_>, followed: Followed) -> Result<(), ::redb::Error> {
    tables.about.insert(LOG, followed.log)?;
    tables.about.insert(SEQUENCE, followed.sequence)?;
    tables.about.insert(LOST, u64::from(followed.is_lost))?;
    Ok(())
}

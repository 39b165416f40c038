//! A table that notes what is done to it, row by row, for the journal; and rows put back into tables.
//!
//! Whoever changes a table through [`Noted`] cannot forget the journal: what is noted is appended before the change is
//! committed.

use std::cell::RefCell;
use std::rc::Rc;

use ::redb::{AccessGuard, ReadableTable as _, StorageError, Table};
use mesh_bus::journal::Row;

/// What was done since a transaction began.
pub(super) type Notes = Rc<RefCell<Vec<Row>>>;

/// What a table holds, as bytes and back.
pub(super) trait Cell: ::redb::Value + 'static {
    /// As the journal has it.
    fn to_row(value: &Self::SelfType<'_>) -> Vec<u8>;
    /// As the table has it; nothing where the bytes are none of it.
    fn of_row(bytes: &[u8]) -> Option<Self::SelfType<'_>>;
}

impl Cell for &'static str {
    fn to_row(value: &&str) -> Vec<u8> {
        value.as_bytes().to_vec()
    }

    fn of_row(bytes: &[u8]) -> Option<&str> {
        std::str::from_utf8(bytes).ok()
    }
}

impl Cell for &'static [u8] {
    fn to_row(value: &&[u8]) -> Vec<u8> {
        value.to_vec()
    }

    fn of_row(bytes: &[u8]) -> Option<&[u8]> {
        Some(bytes)
    }
}

impl Cell for u64 {
    fn to_row(value: &u64) -> Vec<u8> {
        value.to_string().into_bytes()
    }

    fn of_row(bytes: &[u8]) -> Option<u64> {
        std::str::from_utf8(bytes).ok()?.parse().ok()
    }
}

/// A table of the store.
pub(super) struct Noted<'t, V: Cell> {
    name: &'static str,
    table: Table<'t, &'static str, V>,
    notes: Notes,
}

impl<'t, V: Cell> Noted<'t, V> {
    pub(super) fn new(name: &'static str, table: Table<'t, &'static str, V>, notes: &Notes) -> Self {
        Self { name, table, notes: Rc::clone(notes) }
    }

    pub(super) fn get(&self, key: &str) -> Result<Option<AccessGuard<'_, V>>, StorageError> {
        self.table.get(key)
    }

    pub(super) fn insert(&mut self, key: &str, value: V::SelfType<'_>) -> Result<(), StorageError> {
        let row = Row { key: self.key(key), value: Some(V::to_row(&value).into()) };
        self.notes.borrow_mut().push(row);
        self.table.insert(key, value).map(drop)
    }

    pub(super) fn remove(&mut self, key: &str) -> Result<(), StorageError> {
        if self.table.remove(key)?.is_some() {
            self.notes.borrow_mut().push(Row { key: self.key(key), value: None });
        }
        Ok(())
    }

    /// Puts a row where it came from, unnoted; says whether it is of this table, and can be read.
    pub(super) fn put_back(&mut self, row: &Row) -> Result<bool, StorageError> {
        let Some(key) = row.key.strip_prefix(self.name).and_then(|key| key.strip_prefix('.')) else {
            return Ok(false);
        };
        match &row.value {
            None => drop(self.table.remove(key)?),
            Some(bytes) => match V::of_row(bytes) {
                Some(value) => drop(self.table.insert(key, value)?),
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    /// Everything that is in it.
    pub(super) fn rows(&self) -> Result<Vec<Row>, StorageError> {
        let row = |entry: Result<(AccessGuard<'_, &str>, AccessGuard<'_, V>), StorageError>| {
            let (key, value) = entry?;
            Ok(Row { key: self.key(key.value()), value: Some(V::to_row(&value.value()).into()) })
        };
        self.table.iter()?.map(row).collect()
    }

    /// Takes everything out of it, unnoted.
    pub(super) fn clear(&mut self) -> Result<(), StorageError> {
        self.table.retain(|_, _| false)
    }

    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.name)
    }
}

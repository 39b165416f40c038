//! The real store: a redb database, one file.
//!
//! Tables: `pins` (node → key), `credentials` (key → JSON list, the newest last), `highest` (key →
//! number), `rotations` (name → JSON), `escrow` (recipient → how it stands), `about` (the shape of all this, and how much of the
//! log is in it). A commit is durable (redb's `Immediate`: fsync), and is in the journal first, where there is one
//! ([`super::journaled`]).

use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::sync::{Arc, Mutex};

use ::redb::backends::FileBackend;
use ::redb::{
    Builder, Database, Durability, ReadableDatabase as _, ReadableTable as _, Table, TableDefinition,
    WriteTransaction,
};
use mesh_bus::journal::Row;

use super::journaled::Journal;
use super::noted::{Noted, Notes};
use super::*;

const PINS: TableDefinition<'_, &str, &str> = TableDefinition::new("pins");
const CREDENTIALS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("credentials");
const HIGHEST: TableDefinition<'_, &str, u64> = TableDefinition::new("highest");
const ESCROW: TableDefinition<'_, &str, &str> = TableDefinition::new("escrow");
const ROTATIONS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("rotations");
const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");

/// How an escrow recipient stands.
const AHEAD: &str = "ahead";
const NAMED: &str = "named";

const SHAPE: u64 = 1;
/// The vault's share of a small machine's memory: what it keeps is small, and read seldom.
const CACHE: usize = 2 << 20;

/// The vault's store in a file.
#[derive(Debug)]
pub struct RedbStore(Database, pub(super) Mutex<Option<Arc<dyn Journal>>>);

impl RedbStore {
    /// Opens the file, or makes it; for its owner alone in either case. Its folder must exist.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = own_file(path).map_err(|source| StoreError::File { path: path.to_owned(), source })?;
        let database = database(file).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        let store = Self(database, Mutex::default());
        let found = store.write("setting it up", |tables| {
            let found = tables.about.get("shape")?.map_or(SHAPE, |shape| shape.value());
            tables.about.insert("shape", found)?;
            Ok(found)
        })?;
        if found != SHAPE {
            return Err(StoreError::Shape { path: path.to_owned(), found, known: SHAPE });
        }
        Ok(store)
    }

    /// Whether there is a store in the file: not where it is missing, or empty.
    pub fn is_there(path: &Path) -> Result<bool, StoreError> {
        match path.metadata() {
            Ok(file) => Ok(file.len() > 0),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StoreError::File { path: path.to_owned(), source }),
        }
    }

    /// One transaction; in the journal and on the disk when it returns.
    pub(super) fn write<T>(
        &self,
        doing: &'static str,
        change: impl FnOnce(&mut Tables<'_>) -> Result<T, Broken>,
    ) -> Result<T, StoreError> {
        let failed = |source: ::redb::Error| StoreError::Database { doing, source: Box::new(source) };
        let begin = || -> Result<_, ::redb::Error> {
            let mut transaction = self.0.begin_write()?;
            transaction.set_durability(Durability::Immediate)?;
            Ok(transaction)
        };
        let transaction = begin().map_err(failed)?;
        // Where anything fails, what was begun goes with the transaction.
        let notes = Notes::default();
        let changed = {
            let mut tables = Tables::open(&transaction, &notes).map_err(failed)?;
            let changed = change(&mut tables).map_err(|broken| match broken {
                Broken::Database(source) => failed(source),
                Broken::Unreadable(error) => error,
            })?;
            self.append(&notes, &mut tables)?;
            changed
        };
        transaction.commit().map_err(|error| failed(error.into()))?;
        Ok(changed)
    }

    /// All of one table, as it is at one moment.
    fn rows<V: ::redb::Value + 'static, T>(
        &self,
        doing: &'static str,
        table: TableDefinition<'static, &'static str, V>,
        row: impl Fn(&str, V::SelfType<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let failed = |source: ::redb::Error| StoreError::Database { doing, source: Box::new(source) };
        let read = self.0.begin_read().map_err(|error| failed(error.into()))?;
        let table = read.open_table(table).map_err(|error| failed(error.into()))?;
        let mut rows = Vec::new();
        for entry in table.iter().map_err(|error| failed(error.into()))? {
            let (key, value) = entry.map_err(|error| failed(error.into()))?;
            rows.push(row(key.value(), value.value())?);
        }
        Ok(rows)
    }

    /// One row of one table.
    fn row<V: ::redb::Value + 'static, T>(
        &self,
        doing: &'static str,
        table: TableDefinition<'static, &'static str, V>,
        key: &str,
        row: impl FnOnce(V::SelfType<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let get = || -> Result<_, ::redb::Error> { Ok(self.0.begin_read()?.open_table(table)?.get(key)?) };
        let found = get().map_err(|source| StoreError::Database { doing, source: Box::new(source) })?;
        found.map(|value| row(value.value())).transpose()
    }
}

impl Store for RedbStore {
    fn pins(&self) -> Result<Pins, StoreError> {
        let rows = self.rows("reading the nodes' keys", PINS, |node, recipient| {
            let node: NodeName = node.parse().map_err(|source| StoreError::Node { source })?;
            let recipient = recipient.parse();
            let recipient =
                recipient.map_err(|source| StoreError::Recipient { node: node.clone(), source })?;
            Ok((node, recipient))
        })?;
        Ok(rows.into_iter().collect())
    }

    fn pin(&self, node: &NodeName, recipient: &Recipient) -> Result<Pinned, StoreError> {
        let presented = recipient.to_string();
        let known = self.write("keeping a node's key", |tables| {
            let known = tables.pins.get(node.as_str())?.map(|known| known.value().to_owned());
            if known.is_none() {
                tables.pins.insert(node.as_str(), presented.as_str())?;
            }
            Ok(known)
        })?;
        match known {
            None => Ok(Pinned::First),
            Some(known) if known == presented => Ok(Pinned::Same),
            Some(known) => match known.parse() {
                Ok(known) => Ok(Pinned::Another(known)),
                Err(source) => Err(StoreError::Recipient { node: node.clone(), source }),
            },
        }
    }

    fn unpin(&self, node: &NodeName) -> Result<(), StoreError> {
        self.write("forgetting a node's key", |tables| {
            tables.pins.remove(node.as_str())?;
            Ok(())
        })
    }

    fn kept(&self) -> Result<Kept, StoreError> {
        let rows = self.rows("reading what is kept", CREDENTIALS, |key, credentials| {
            let credentials = read_credentials(key, credentials)?;
            let key = key.parse().map_err(|source| StoreError::Key { key: key.to_owned(), source })?;
            Ok((key, credentials))
        })?;
        Ok(rows.into_iter().collect())
    }

    fn kept_of(&self, key: &CredentialKey) -> Result<Vec<Credential>, StoreError> {
        let key = key.to_string();
        let read = |credentials: &[u8]| read_credentials(&key, credentials);
        Ok(self.row("reading what is kept", CREDENTIALS, &key, read)?.unwrap_or_default())
    }

    fn live(&self, key: &CredentialKey) -> Result<Live, StoreError> {
        let (name, node) = (RotationName::of(key).to_string(), &key.node);
        let key = key.to_string();
        let get = || -> Result<_, ::redb::Error> {
            let read = self.0.begin_read()?;
            let credentials =
                read.open_table(CREDENTIALS)?.get(key.as_str())?.map(|json| json.value().to_vec());
            let rotation = read.open_table(ROTATIONS)?.get(name.as_str())?.map(|json| json.value().to_vec());
            Ok((credentials, rotation))
        };
        let (credentials, rotation) = get().map_err(|source| StoreError::Database {
            doing: "reading what is live",
            source: Box::new(source),
        })?;
        let credentials =
            credentials.map(|json| read_credentials(&key, &json)).transpose()?.unwrap_or_default();
        let rotation = rotation.map(|json| read_rotation(&name, &json)).transpose()?;
        Ok(Live { credentials, turn: rotation.and_then(|mut rotation| rotation.between.remove(node)) })
    }

    fn rotations(&self) -> Result<Rotations, StoreError> {
        let rows = self.rows("reading the rotations", ROTATIONS, |name, json| {
            let rotation = read_rotation(name, json)?;
            Ok((rotation.name.clone(), rotation))
        })?;
        Ok(rows.into_iter().collect())
    }

    fn highest(&self, key: &CredentialKey) -> Result<u64, StoreError> {
        Ok(self.row("reading a version", HIGHEST, &key.to_string(), Ok)?.unwrap_or(0))
    }

    fn confirmed(&self) -> Result<Confirmed, StoreError> {
        let rows = self.rows("reading the escrow recipients", ESCROW, |recipient, standing| {
            let unreadable = || StoreError::Escrow { recipient: recipient.to_owned() };
            let standing = match standing {
                AHEAD => Standing::Ahead,
                NAMED => Standing::Named,
                _ => return Err(unreadable()),
            };
            Ok((recipient.parse().map_err(|_| unreadable())?, standing))
        })?;
        Ok(rows.into_iter().collect())
    }

    fn commit(&self, changes: &[Change]) -> Result<(), StoreError> {
        self.write("keeping what was made", |tables| {
            changes.iter().try_for_each(|change| tables.change(change))
        })
    }
}

/// All tables, open in one transaction.
pub(super) struct Tables<'t> {
    pins: Noted<'t, &'static str>,
    credentials: Noted<'t, &'static [u8]>,
    highest: Noted<'t, u64>,
    escrow: Noted<'t, &'static str>,
    rotations: Noted<'t, &'static [u8]>,
    pub(super) about: Table<'t, &'static str, u64>,
}

/// A change that did not come about.
pub(super) enum Broken {
    Database(::redb::Error),
    Unreadable(StoreError),
}

impl From<::redb::Error> for Broken {
    fn from(source: ::redb::Error) -> Self {
        Self::Database(source)
    }
}

impl From<::redb::StorageError> for Broken {
    fn from(source: ::redb::StorageError) -> Self {
        Self::Database(source.into())
    }
}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self::Unreadable(error)
    }
}

impl<'t> Tables<'t> {
    fn open(transaction: &'t WriteTransaction, notes: &Notes) -> Result<Self, ::redb::Error> {
        Ok(Self {
            pins: Noted::new("pins", transaction.open_table(PINS)?, notes),
            credentials: Noted::new("credentials", transaction.open_table(CREDENTIALS)?, notes),
            highest: Noted::new("highest", transaction.open_table(HIGHEST)?, notes),
            escrow: Noted::new("escrow", transaction.open_table(ESCROW)?, notes),
            rotations: Noted::new("rotations", transaction.open_table(ROTATIONS)?, notes),
            about: transaction.open_table(ABOUT)?,
        })
    }

    /// Everything that is kept.
    pub(super) fn rows(&self) -> Result<Vec<Row>, ::redb::Error> {
        let Self { pins, credentials, highest, escrow, rotations, about: _ } = self;
        Ok([pins.rows()?, credentials.rows()?, highest.rows()?, escrow.rows()?, rotations.rows()?].concat())
    }

    /// Puts a row back into the table that it is of; says whether there is one.
    pub(super) fn put_back(&mut self, row: &Row) -> Result<bool, ::redb::Error> {
        Ok(self.pins.put_back(row)?
            || self.credentials.put_back(row)?
            || self.highest.put_back(row)?
            || self.escrow.put_back(row)?
            || self.rotations.put_back(row)?)
    }

    /// Forgets everything that is kept.
    pub(super) fn clear(&mut self) -> Result<(), ::redb::Error> {
        self.pins.clear()?;
        self.credentials.clear()?;
        self.highest.clear()?;
        self.escrow.clear()?;
        Ok(self.rotations.clear()?)
    }
}

impl Tables<'_> {
    fn change(&mut self, change: &Change) -> Result<(), Broken> {
        match change {
            Change::Replace(key, credential) => {
                self.put(&key.to_string(), std::slice::from_ref(credential))?;
                self.give(&key.to_string(), credential.version)?;
            }
            Change::Add(key, credential) => {
                let key = key.to_string();
                let mut live = self.of(&key)?;
                live.push(credential.clone());
                self.put(&key, &live)?;
                self.give(&key, credential.version)?;
            }
            Change::Retire(key, id) => {
                let key = key.to_string();
                let mut live = self.of(&key)?;
                live.retain(|one| one.id != *id);
                self.put(&key, &live)?;
            }
            Change::Drop(key) => self.credentials.remove(key.to_string().as_str())?,
            Change::Rotate(rotation) => {
                for (node, turn) in &rotation.between {
                    self.give(&rotation.key(node).to_string(), turn.number)?;
                }
                let json =
                    serde_json::to_vec(rotation).expect("a rotation always has a JSON: its keys are names");
                self.rotations.insert(rotation.name.to_string().as_str(), json.as_slice())?;
            }
            Change::Confirm(recipient, standing) => {
                let standing = match standing {
                    Standing::Ahead => AHEAD,
                    Standing::Named => NAMED,
                };
                self.escrow.insert(recipient.to_string().as_str(), standing)?;
            }
            Change::Unconfirm(recipient) => self.escrow.remove(recipient.to_string().as_str())?,
            Change::Forget(name) => self.rotations.remove(name.to_string().as_str())?,
        }
        Ok(())
    }

    fn of(&self, key: &str) -> Result<Vec<Credential>, Broken> {
        match self.credentials.get(key)? {
            Some(json) => Ok(read_credentials(key, json.value())?),
            None => Ok(vec![]),
        }
    }

    /// A key without any is not in the table.
    fn put(&mut self, key: &str, live: &[Credential]) -> Result<(), ::redb::Error> {
        if live.is_empty() {
            self.credentials.remove(key)?;
            return Ok(());
        }
        let json = serde_json::to_vec(live).expect("a credential always has a JSON: its keys are text");
        self.credentials.insert(key, json.as_slice())?;
        Ok(())
    }

    fn give(&mut self, key: &str, number: u64) -> Result<(), ::redb::Error> {
        let before = self.highest.get(key)?.map_or(0, |highest| highest.value());
        self.highest.insert(key, number.max(before))?;
        Ok(())
    }
}

fn read_rotation(name: &str, json: &[u8]) -> Result<Rotation, StoreError> {
    serde_json::from_slice(json).map_err(|source| StoreError::Rotation { name: name.to_owned(), source })
}

fn read_credentials(key: &str, json: &[u8]) -> Result<Vec<Credential>, StoreError> {
    serde_json::from_slice(json).map_err(|source| StoreError::Credentials { key: key.to_owned(), source })
}

/// A file that only its owner reads, from its first moment on; one that was there is made so.
fn own_file(path: &Path) -> std::io::Result<File> {
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.sync_all()?;
    // Its name, too, has to outlive a power cut.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()?;
    Ok(file)
}

fn database(file: File) -> Result<Database, Box<::redb::Error>> {
    let backend = FileBackend::new(file).map_err(|error| Box::new(error.into()))?;
    let opened = Builder::new().set_cache_size(CACHE).create_with_backend(backend);
    opened.map_err(|error| Box::new(error.into()))
}

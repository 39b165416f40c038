//! A backup of what the vault keeps: one file, as of one moment, with nothing in it that is not sealed.
//!
//! A line of JSON that says what it is, a line for each row, and a last one with the digest of all before it. Whoever has it can open
//! nothing with it; without the vault's signing key, which is not in it, nothing of it can be handed out either.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use mesh_bus::journal::Row;
use mesh_model::digest::Digest;
use serde::{Deserialize, Serialize};

/// What a backup says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The shape of the file.
    pub v: u32,
    /// That it is one.
    pub backup: String,
    /// Whose.
    pub mesh: String,
    /// The key that what is in it was signed with.
    pub signer: String,
    /// How many rows there are.
    pub rows: usize,
}

/// What [`About::backup`] says.
const KIND: &str = "mesh-vault";

/// A backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// What it says of itself.
    pub about: About,
    /// What was kept.
    pub rows: Vec<Row>,
}

/// Why a backup cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is no backup, or not all of one.
    #[error("it is no backup of a vault, or not all of one: {why}")]
    NotOne {
        /// What is wrong.
        why: String,
    },
    /// It is of a newer program.
    #[error("it is of shape {found}, and this program reads shape 1")]
    Shape {
        /// What it says.
        found: u32,
    },
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    value: String,
}

#[derive(Serialize, Deserialize)]
struct End {
    digest: String,
}

impl Backup {
    /// Of these rows.
    #[must_use]
    pub fn of(mesh: &str, signer: &str, rows: Vec<Row>) -> Self {
        let (backup, mesh, signer) = (KIND.to_owned(), mesh.to_owned(), signer.to_owned());
        Self { about: About { v: 1, backup, mesh, signer, rows: rows.len() }, rows }
    }

    /// As it is in its file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = line(&self.about);
        for Row { key, value } in &self.rows {
            let value = BASE64.encode(value.as_deref().unwrap_or_default());
            text.push_str(&line(&Line { key: key.clone(), value }));
        }
        let digest = Digest::of(text.as_bytes()).to_string();
        text.push_str(&line(&End { digest }));
        text
    }

    /// From its file.
    ///
    /// # Errors
    /// Where it is none, or where any of it is missing or another.
    pub fn from_text(text: &str) -> Result<Self, BackupError> {
        let none = |why: &str| BackupError::NotOne { why: why.to_owned() };
        let first = text.lines().next().unwrap_or_default();
        let about: About =
            serde_json::from_str(first).map_err(|_| none("its first line says nothing of a backup"))?;
        if about.backup != KIND {
            return Err(none("its first line says that it is something else"));
        }
        if about.v != 1 {
            return Err(BackupError::Shape { found: about.v });
        }
        let body = text.strip_suffix('\n').and_then(|all| all.rsplit_once('\n'));
        let (body, last) = body.ok_or_else(|| none("it ends too early"))?;
        let end: End = serde_json::from_str(last).map_err(|_| none("it ends too early"))?;
        if Digest::of(format!("{body}\n").as_bytes()).to_string() != end.digest {
            return Err(none("it was changed: its digest is another"));
        }
        let row = |text: &str| {
            let line: Line = serde_json::from_str(text).map_err(|error| none(&error.to_string()))?;
            let value = BASE64.decode(line.value.as_bytes()).map_err(|error| none(&error.to_string()))?;
            Ok(Row { key: line.key, value: Some(value.into()) })
        };
        let rows = body.lines().skip(1).map(row).collect::<Result<Vec<_>, _>>()?;
        match rows.len() == about.rows {
            true => Ok(Self { about, rows }),
            false => Err(none("it has another number of rows than it says")),
        }
    }
}

fn line<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string(value).expect("texts and numbers are JSON");
    text.push('\n');
    text
}

/// Writes what a store kept beside it, under a name that is free; returns where.
pub(crate) fn put_aside(folder: &Path, rows: &[Row]) -> Result<PathBuf, BackupError> {
    let text = Backup::of("", "", rows.to_vec()).to_text();
    for number in 1.. {
        let path = folder.join(format!("vault-of-another-log-{number}.backup"));
        match write(&path, &text) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(BackupError::Write { path, source }),
        }
    }
    unreachable!("there are more numbers than files")
}

/// A new file, for its owner alone, on the disk when this returns.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests;

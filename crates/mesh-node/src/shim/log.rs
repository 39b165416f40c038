//! A service's log: appended to, and begun anew when it is full, so that it never fills the disk.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// How large one file of a log may grow, in bytes.
pub const LIMIT: u64 = 10 * 1024 * 1024;

/// How many files of a log are kept, the current one too: `server.log`, `server.log.1`, `server.log.2`.
pub const KEPT: u32 = 3;

/// An open log.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    size: u64,
    limit: u64,
}

impl Log {
    pub(super) fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o640).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, size, limit })
    }

    /// Adds to it. What a full disk does not take is lost: a service must not stand still for its log.
    pub(super) fn add(&mut self, output: &[u8]) {
        if self.size > 0 && self.size + output.len() as u64 > self.limit {
            self.turn();
        }
        if self.file.write_all(output).is_ok() {
            self.size += output.len() as u64;
        }
    }

    fn turn(&mut self) {
        for number in (1..KEPT).rev() {
            // The older one may not be there yet.
            let _ = std::fs::rename(numbered(&self.path, number - 1), numbered(&self.path, number));
        }
        match Self::open(&self.path, self.limit) {
            Ok(next) => *self = next,
            // Written on to where it is, and tried again after as much again.
            Err(_) => self.size = 0,
        }
    }
}

/// The current file is number 0.
pub(crate) fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

#[cfg(test)]
mod tests;

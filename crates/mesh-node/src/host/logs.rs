//! Reads what a service said: the last lines, and what it says next.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::shim::{KEPT, numbered};

/// Enough for the last lines that anybody asks for.
const PIECE: u64 = 64 * 1024;
/// Between two looks at a log that is followed.
const LOOK: Duration = Duration::from_millis(200);

/// The last `lines` lines of a log, of older files too where the current one is short. None where there is no log.
///
/// # Errors
/// What the system says.
pub fn tail(path: &Path, lines: usize) -> io::Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    for number in 0..KEPT {
        let missing = lines.saturating_sub(found.len());
        if missing == 0 {
            break;
        }
        match last_lines(&numbered(path, number), missing) {
            Ok(mut older) => {
                older.append(&mut found);
                found = older;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Reads backwards, a piece at a time, until there are enough lines.
fn last_lines(path: &Path, lines: usize) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let mut begin = file.metadata()?.len();
    let mut text: Vec<u8> = Vec::new();
    while begin > 0 && text.iter().filter(|byte| **byte == b'\n').count() <= lines {
        let piece = PIECE.min(begin);
        begin -= piece;
        file.seek(SeekFrom::Start(begin))?;
        let mut older = Vec::new();
        (&mut file).take(piece).read_to_end(&mut older)?;
        older.append(&mut text);
        text = older;
    }
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    Ok(all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect())
}

/// What was added after `offset`, at most 64 KiB of it, the end where there is more.
pub(super) fn since(path: &Path, offset: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    // Shorter than it was: it has begun anew.
    let offset = if length < offset { 0 } else { offset };
    file.seek(SeekFrom::Start(offset.max(length.saturating_sub(PIECE))))?;
    let mut text = Vec::new();
    file.take(PIECE).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A log that is read as it grows, over the moments when it begins anew.
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    file: Option<(File, u64)>,
}

impl Follow {
    /// From the end of what there is now; the log may be missing yet.
    ///
    /// # Errors
    /// What the system says.
    pub fn from_end(path: &Path) -> io::Result<Self> {
        let mut follow = Self { path: path.to_owned(), file: None };
        follow.open()?;
        if let Some((file, _)) = &mut follow.file {
            file.seek(SeekFrom::End(0))?;
        }
        Ok(follow)
    }

    /// What is added next: waits for it.
    ///
    /// # Errors
    /// What the system says.
    pub async fn next(&mut self) -> io::Result<Vec<u8>> {
        loop {
            let added = self.read()?;
            if !added.is_empty() {
                return Ok(added);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut added = Vec::new();
        if let Some((file, _)) = &mut self.file {
            file.take(PIECE).read_to_end(&mut added)?;
        }
        // Only once the old one is read to its end.
        if added.is_empty() && self.has_begun_anew() {
            self.open()?;
        }
        Ok(added)
    }

    fn has_begun_anew(&self) -> bool {
        let now = self.path.metadata().map(|metadata| metadata.ino()).ok();
        now.is_some() && now != self.file.as_ref().map(|(_, inode)| *inode)
    }

    fn open(&mut self) -> io::Result<()> {
        match File::open(&self.path) {
            Ok(file) => {
                let inode = file.metadata()?.ino();
                self.file = Some((file, inode));
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

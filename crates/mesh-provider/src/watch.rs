//! When a file is another one than before: by polling, never by the filesystem's watch.
//!
//! The file is replaced, and a watch on the path sees nothing after the first replacement. So: a look at size, time
//! and inode each time (cheap), and at the content each second (sure). Of the content only a keyed digest is kept,
//! since it holds secrets and this outlives them.

use std::mem::Discriminant;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mesh_seal::{DigestKey, KeyedDigest, SystemRandom};

use crate::consumers::{ConsumersError, read_bounded};

/// How often the content is looked at, whatever size and time say.
const CONTENT_EVERY: Duration = Duration::from_secs(1);

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// As it was.
    Same,
    /// The content is another one, or is there or gone for the first time.
    Changed,
}

/// One file that is looked at again and again.
#[derive(Debug)]
pub struct Watch {
    path: PathBuf,
    key: DigestKey,
    stamp: Option<Stamp>,
    /// `None` before the first look.
    content: Option<Content>,
    content_at: Option<Instant>,
}

/// The content's digest, or in which way there is none.
type Content = Result<KeyedDigest, Discriminant<ConsumersError>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    size: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Watch {
    /// Nothing is looked at yet: the first look is a change.
    ///
    /// # Panics
    /// Where the system gives no randomness: nothing that keeps secrets should go on then.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let key = DigestKey::generate(&mut SystemRandom).expect("the system gives randomness");
        Self { path: path.to_owned(), key, stamp: None, content: None, content_at: None }
    }

    /// Looks whether the file is another one than at the last look.
    pub fn look(&mut self, now: Instant) -> Look {
        let stamp = Stamp::of(&self.path);
        let fresh = self.content_at.is_some_and(|at| now.duration_since(at) < CONTENT_EVERY);
        if stamp == self.stamp && fresh {
            return Look::Same;
        }
        let content = self.content();
        self.stamp = stamp;
        self.content_at = Some(now);
        let same = self.content.replace(content) == Some(content);
        if same { Look::Same } else { Look::Changed }
    }

    fn content(&self) -> Content {
        let bytes = read_bounded(&self.path).map_err(|error| std::mem::discriminant(&error))?;
        Ok(self.key.digest(&bytes))
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Some(Self { size: metadata.len(), inode: metadata.ino(), modified })
    }
}

#[cfg(test)]
mod tests;

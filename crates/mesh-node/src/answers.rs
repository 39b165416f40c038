//! The answers files of this node's providers, looked at again and again.
//!
//! A provisioner replaces its file, so a watch on the path would see nothing after the first time; a look at its size and
//! time costs nothing. The file is the provisioner's, and so may be a link to anywhere: a link is not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use mesh_model::key::{BoundKey, ModuleKey};
use mesh_model::name::ProvisionName;
use mesh_model::wire::{Assignment, Bound, Timestamp};
use rustix::fs::{Mode, OFlags};

use crate::client::carry::{self, MAX_ANSWERS};

/// How soon what could not be told is told again: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

/// What distinguishes a file from the one that it replaced.
type Stamp = (u64, u64, i64, i64);

/// The answers of one module's provisioners.
#[derive(Default)]
pub struct AnswersFiles {
    stamps: BTreeMap<ProvisionName, Option<Stamp>>,
    carried: BTreeMap<BoundKey, Bound>,
    /// When to try again what could not be told, and how long to wait after the next failure.
    again: Option<(Instant, Duration)>,
}

/// What to do on the bus, and what is wrong.
#[derive(Debug, Default, PartialEq)]
pub struct Due {
    /// Answers that are new.
    pub put: Vec<(BoundKey, Bound)>,
    /// Answers that nobody is there for any more.
    pub delete: Vec<BoundKey>,
    /// What is the provider's fault.
    pub faults: Vec<String>,
    /// Who is answered still, and is no consumer any more, for each provision.
    pub left: BTreeMap<ProvisionName, BTreeSet<ModuleKey>>,
}

impl AnswersFiles {
    /// Whether any file was replaced since it was last read, or something is to be told again.
    #[must_use]
    pub fn have_changed(&self, assignment: &Assignment) -> bool {
        if self.again.is_some_and(|(at, _)| at <= Instant::now()) {
            return true;
        }
        let changed = |(provision, provided): (&ProvisionName, &mesh_model::wire::Provided)| {
            self.stamps.get(provision) != Some(&stamp(&provided.answers))
        };
        assignment.provides.iter().any(changed)
    }

    /// Reads all files of a module, and says what is to be done.
    pub fn read(&mut self, assignment: &Assignment, now: Timestamp) -> Due {
        let mut due = Due::default();
        let mut still = BTreeMap::new();
        for (provision, provided) in &assignment.provides {
            self.stamps.insert(provision.clone(), stamp(&provided.answers));
            let text = match read(&provided.answers) {
                Ok(text) => text,
                Err(error) => {
                    due.faults.push(format!("the answers file {} cannot be read: {error}", provided.answers));
                    None
                }
            };
            let carried = carry::carry(assignment, provision, text.as_deref(), now);
            due.faults.extend(carried.faults);
            if !carried.left.is_empty() {
                due.left.insert(provision.clone(), carried.left);
            }
            for key in carried.consumers {
                // What a consumer had stays until there is a good answer.
                let new = carried.bound.get(&key).or_else(|| self.carried.get(&key));
                still.extend(new.map(|bound| (key.clone(), bound.clone())));
            }
        }
        for (key, bound) in &mut still {
            match self.carried.get(key) {
                Some(before) if Bound { at: bound.at, ..before.clone() } == *bound => bound.at = before.at,
                _ => due.put.push((key.clone(), bound.clone())),
            }
        }
        due.delete = self.carried.keys().filter(|key| !still.contains_key(key)).cloned().collect();
        if due.put.is_empty() {
            self.again = None;
        }
        self.carried = still;
        due
    }

    /// Forgets what was told, where telling it failed: it is told again at the next reading, which is soon at first, and
    /// then ever later.
    pub fn untold(&mut self, keys: &[BoundKey]) {
        if keys.is_empty() {
            self.again = None;
            return;
        }
        keys.iter().for_each(|key| drop(self.carried.remove(key)));
        let pause = self.again.map_or(AGAIN.0, |(_, pause)| pause);
        self.again = Some((Instant::now() + pause, (pause * 2).min(AGAIN.1)));
    }
}

fn stamp(path: &str) -> Option<Stamp> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
}

/// The file's content; none where there is no file yet.
fn read(path: &str) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => std::fs::File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    let mut text = Vec::new();
    file.take(MAX_ANSWERS + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_ANSWERS {
        return Err(io::Error::other(format!("it is longer than {MAX_ANSWERS} bytes")));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests;

//! The vault's store on several machines: one log, which the holder of the seat writes and everybody follows.
//!
//! Start at [`Follower::take`], which every term of the seat begins with: it writes its term behind the end of the log, so that who
//! held the seat before appends nothing any more, then takes up everything up to there, and only then is anything answered.
//! [`Follower::stand_by`] keeps the store of who waits from falling far behind.
//!
//! A store belongs to one log. One that is new takes up whatever log there is; where there is none, what the store keeps becomes one. A
//! store of another log is put aside: the log is what was answered from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mesh_bus::journal::{self, JournalError, Line, Row};
use mesh_bus::seat::Tenure;
use mesh_bus::{Bus, Journal};
use mesh_seal::{Randomness as _, SystemRandom};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::OnceCell;

use crate::backup;
use crate::store::{self, Followed, RedbStore, StoreError, store_file};

/// The journal's name, in the vault's account.
const NAME: &str = "VAULT";
/// Which log it is, written last when a log is begun: one without it is not whole.
const LOG: &str = "about.log";
/// Who writes it from here on.
const TERM: &str = "about.term";
/// How often who stands by looks for more.
const LOOK: Duration = Duration::from_secs(1);
/// The pause before the log is asked for again.
const RETRY: Duration = Duration::from_millis(100);
/// How many bytes of rows are appended as one, about, when a log is begun.
const CHUNK: usize = 512 * 1024;

/// The store does not go with the log.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The log could not be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The store could not.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was kept aside could not be written.
    #[error("the store of another log cannot be kept aside")]
    Aside(#[from] backup::BackupError),
    /// Somebody else began a log, and has not ended.
    #[error(
        "the vault's log was begun on another machine, and is not whole: start the one whose store it is of"
    )]
    NotWhole,
    /// The log says what it should not.
    #[error("the vault's log cannot be read")]
    Shape(#[source] serde_json::Error),
}

impl FollowError {
    /// Whether it may go well when it is tried again.
    fn is_passing(&self) -> bool {
        matches!(self, Self::Journal(_) | Self::NotWhole)
    }
}

/// What says which log it is.
#[derive(Debug, Serialize, Deserialize)]
struct Log {
    v: u32,
    id: u64,
}

/// A store, and the log that it is of.
#[derive(Debug)]
pub(crate) struct Follower {
    bus: Bus,
    journal: OnceCell<Journal>,
    store: Arc<RedbStore>,
    folder: PathBuf,
}

impl Follower {
    pub(crate) fn new(bus: Bus, store: Arc<RedbStore>, folder: PathBuf) -> Self {
        Self { bus, journal: OnceCell::new(), store, folder }
    }

    async fn journal(&self) -> Result<&Journal, JournalError> {
        self.journal.get_or_try_init(|| Journal::open(&self.bus, NAME)).await
    }

    /// Follows the log while the seat is somebody else's.
    pub(crate) async fn stand_by(&self, is_held: impl Fn() -> bool) {
        let mut told = false;
        loop {
            if !is_held() {
                match self.look().await {
                    Ok(()) => told = false,
                    Err(error) if !std::mem::replace(&mut told, true) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(error, "the vault's log cannot be followed; trying again");
                    }
                    Err(_) => {}
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn look(&self) -> Result<(), FollowError> {
        let journal = self.journal().await?;
        let followed = self.followed().await?;
        let end = journal.end().await?;
        let is_new = followed.log == 0 && self.keeps_nothing().await?;
        match self.log(journal).await? {
            Some(log) if log == followed.log && end > followed.sequence || is_new => {
                self.replay(journal, log, followed, end).await
            }
            _ => Ok(()),
        }
    }

    /// Takes the log over, and everything that it says; `None` where the term is over before that is done.
    ///
    /// # Errors
    /// Where the store and the log do not go together, and trying again is of no use.
    pub(crate) async fn take(&self, tenure: &Tenure) -> Result<Option<Arc<Writer>>, FollowError> {
        let mut told = false;
        loop {
            let taken = tokio::select! {
                taken = self.try_to_take(tenure) => taken,
                () = tenure.over().cancelled() => return Ok(None),
            };
            match taken {
                Ok(writer) => return Ok(Some(writer)),
                Err(error) if !error.is_passing() => return Err(error),
                Err(error) if !std::mem::replace(&mut told, true) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "the vault's log cannot be taken over yet; trying again");
                }
                Err(_) => {}
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn try_to_take(&self, tenure: &Tenure) -> Result<Arc<Writer>, FollowError> {
        let journal = self.journal().await?;
        let (end, followed) = (journal.end().await?, self.followed().await?);
        let log = self.log(journal).await?;
        let term = |end| {
            let value = serde_json::json!({ "v": 1, "term": tenure.term() }).to_string();
            let row = Row { key: TERM.to_owned(), value: Some(value.into()) };
            async move { journal.append(&[row], end).await }
        };
        let end = match log {
            None => {
                let is_empty = self.keeps_nothing().await?;
                if is_empty && followed.is_lost {
                    return Err(StoreError::Gone { path: store_file(&self.folder) }.into());
                }
                if is_empty && end > 0 {
                    return Err(FollowError::NotWhole);
                }
                if followed.log != 0 {
                    tracing::warn!("the vault's log is gone: what this machine keeps becomes one");
                }
                self.begin(journal, end).await?
            }
            Some(log) if log == followed.log && followed.sequence > end => {
                tracing::warn!("the vault's log went back: what this machine has beyond it is written again");
                self.begin(journal, end).await?
            }
            Some(log) => {
                let end = term(end).await?;
                let followed = if log == followed.log { followed } else { self.put_aside(log).await? };
                self.replay(journal, log, followed, end).await?;
                end
            }
        };
        let (handle, tenure) = (Handle::current(), tenure.clone());
        Ok(Arc::new(Writer { journal: journal.clone(), end: AtomicU64::new(end), tenure, handle }))
    }

    /// Has the log say what the store says: what differs is appended, and last of all which log it is.
    async fn begin(&self, journal: &Journal, end: u64) -> Result<u64, FollowError> {
        let there = journal.read(0, end).await?.into_iter().map(|line| (line.row.key, line.row.value));
        let mut there: BTreeMap<String, Option<Bytes>> =
            there.filter(|(key, value)| !key.starts_with("about.") && value.is_some()).collect();
        let store = Arc::clone(&self.store);
        let kept = blocking(move || store.dump()).await?;
        let mut rows: Vec<Row> = kept
            .into_iter()
            .filter(|row| there.remove(&row.key).is_none_or(|held| held != row.value))
            .collect();
        rows.extend(there.into_keys().map(|key| Row { key, value: None }));
        let mut end = end;
        for chunk in chunks(rows) {
            end = journal.append(&chunk, end).await?;
        }
        let id = new_log();
        let value = serde_json::to_vec(&Log { v: 1, id }).expect("numbers are JSON").into();
        let end = journal.append(&[Row { key: LOG.to_owned(), value: Some(value) }], end).await?;
        let store = Arc::clone(&self.store);
        blocking(move || store.follow(Followed { log: id, sequence: end, is_lost: false })).await?;
        Ok(end)
    }

    /// Another log than the store is of was answered from: the store follows that one from its beginning, and what it kept is put
    /// beside it, where there is anything.
    async fn put_aside(&self, log: u64) -> Result<Followed, FollowError> {
        let (store, folder) = (Arc::clone(&self.store), self.folder.clone());
        let kept = blocking(move || {
            let rows = store.dump()?;
            let kept = (!rows.is_empty()).then(|| backup::put_aside(&folder, &rows)).transpose()?;
            store.begin_anew(log)?;
            Ok::<_, FollowError>(kept)
        });
        if let Some(path) = kept.await? {
            let path = path.display();
            tracing::error!(%path, "the vault's store was of another log than the mesh's: it is put aside there");
        }
        Ok(Followed { log, sequence: 0, is_lost: false })
    }

    async fn replay(
        &self,
        journal: &Journal,
        log: u64,
        followed: Followed,
        end: u64,
    ) -> Result<(), FollowError> {
        let lines: Vec<Line> = journal.read(followed.sequence, end).await?;
        let store = Arc::clone(&self.store);
        Ok(blocking(move || store.replay(log, &lines)).await?)
    }

    async fn log(&self, journal: &Journal) -> Result<Option<u64>, FollowError> {
        let Some(value) = journal.row(LOG).await?.and_then(|line| line.row.value) else { return Ok(None) };
        let log: Log = serde_json::from_slice(&value).map_err(FollowError::Shape)?;
        Ok(Some(log.id))
    }

    async fn followed(&self) -> Result<Followed, StoreError> {
        let store = Arc::clone(&self.store);
        blocking(move || store.followed()).await
    }

    async fn keeps_nothing(&self) -> Result<bool, StoreError> {
        let store = Arc::clone(&self.store);
        blocking(move || Ok(store.dump()?.is_empty())).await
    }
}

/// Off the threads of the bus, since it waits for the disk.
async fn blocking<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(what).await {
        Ok(ended) => ended,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn new_log() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness nothing could have been sealed either: then any number but none will do.
    let _ = SystemRandom.fill(&mut bytes);
    u64::from_le_bytes(bytes).max(1)
}

fn chunks(rows: Vec<Row>) -> Vec<Vec<Row>> {
    let mut chunks: Vec<Vec<Row>> = Vec::new();
    let mut size = CHUNK;
    for row in rows {
        let length = row.key.len() + row.value.as_ref().map_or(0, Bytes::len);
        match chunks.last_mut().filter(|chunk| size + length <= CHUNK && chunk.len() < journal::MOST) {
            Some(chunk) => {
                size += length;
                chunk.push(row);
            }
            None => {
                size = length;
                chunks.push(vec![row]);
            }
        }
    }
    chunks
}

/// The log, for as long as it is ours to write.
#[derive(Debug)]
pub(crate) struct Writer {
    journal: Journal,
    end: AtomicU64,
    tenure: Tenure,
    handle: Handle,
}

impl store::Journal for Writer {
    /// To be called where waiting is allowed; one at a time, as the store does.
    fn append(&self, rows: &[Row]) -> Result<u64, JournalError> {
        if self.tenure.over().is_cancelled() {
            return Err(JournalError::Moved { journal: NAME.to_owned() });
        }
        let mut end = self.end.load(Ordering::Acquire);
        for rows in rows.chunks(journal::MOST) {
            let appended = self.handle.block_on(self.journal.append(rows, end));
            // Moved, or unknown: what is so is read when the seat is taken again.
            end = appended.inspect_err(|_| self.tenure.give_up())?;
        }
        self.end.store(end, Ordering::Release);
        Ok(end)
    }
}

#[cfg(test)]
mod tests;

//! A bucket, as an account may use it that is granted only some of its keys.
//!
//! Start at [`Kv::new`]. async-nats's own store wants to know the whole stream, which a node may not ask;
//! this one asks for one key by its subject. Everything is awaited: what the bus refuses is an error that
//! names the key and the account, at once. A value is never sent with `Nats-Msg-Id`, by which one account
//! could swallow another's write.

use std::fmt;

use async_nats::{HeaderMap, Message};
use bytes::Bytes;
use thiserror::Error;

use crate::bucket::{self, Bucket, BucketError, Latest, MAX_VALUE};
use crate::client::{self, Bus, RequestError};
use crate::grants;
use crate::seat::Fence;

mod whole;
mod write;

const OPERATION: &str = "KV-Operation";
const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
const SEQUENCE: &str = "Nats-Sequence";
/// The longest key that is safe everywhere, in bytes.
const MAX_KEY: usize = 512;

/// A value, and the revision of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Grows with each write into the bucket: what a compare-and-set compares.
    pub revision: u64,
    /// What the key holds.
    pub value: Bytes,
}

/// Why a key could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KvError {
    /// It is not granted to the account, or there is no such bucket.
    #[error("`{account}` may not {doing} {key} of {bucket}, or the bucket is not there")]
    Denied {
        /// What was being done: `get`, `put`, `delete`.
        doing: &'static str,
        /// The bucket.
        bucket: String,
        /// The key.
        key: String,
        /// Who asked.
        account: String,
    },
    /// Somebody wrote the key in between.
    #[error("{key} of {bucket} has changed in between")]
    Conflict {
        /// The bucket.
        bucket: String,
        /// The key.
        key: String,
    },
    /// The seat was taken by another: nothing of ours is written any more.
    #[error("cannot {doing} {key} of {bucket}: another has taken the seat")]
    Fenced {
        /// What was being done.
        doing: &'static str,
        /// The bucket.
        bucket: String,
        /// The key.
        key: String,
    },
    /// The text cannot be a key.
    #[error("`{key}` cannot be a key of {bucket}")]
    Key {
        /// The bucket.
        bucket: String,
        /// The text.
        key: String,
    },
    /// The value is longer than [`MAX_VALUE`].
    #[error("the value of {key} of {bucket} has {size} bytes, more than {MAX_VALUE}")]
    TooLarge {
        /// The bucket.
        bucket: String,
        /// The key.
        key: String,
        /// How long the value is.
        size: usize,
    },
    /// No answer: a write may have been done or not. Read before writing again.
    #[error("cannot {doing} {key} of {bucket}")]
    Unknown {
        /// What was being done.
        doing: &'static str,
        /// The bucket.
        bucket: String,
        /// The key.
        key: String,
        /// Why there is no answer.
        #[source]
        source: RequestError,
    },
    /// The server refused: the bucket is full, say.
    #[error("the bus refused to {doing} {key} of {bucket}: {why}")]
    Refused {
        /// What was being done.
        doing: &'static str,
        /// The bucket.
        bucket: String,
        /// The key.
        key: String,
        /// In the server's words.
        why: String,
    },
}

/// What the key must be for a write to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Anything,
    Revision(u64),
}

/// A bucket, used by one account.
#[derive(Debug, Clone)]
pub struct Kv {
    bus: Bus,
    bucket: Bucket,
    fence: Option<Fence>,
}

/// The last that happened to a key.
enum Last {
    Value(Entry),
    Deleted(u64),
    Never,
}

impl Kv {
    /// Nothing is asked yet.
    #[must_use]
    pub fn new(bus: &Bus, bucket: Bucket) -> Self {
        Self { bus: bus.clone(), bucket, fence: None }
    }

    /// The same for a seat: nothing is written once another has raised its fence.
    pub(crate) fn fenced(bus: &Bus, bucket: Bucket, fence: &Fence) -> Self {
        Self { bus: bus.clone(), bucket, fence: Some(fence.clone()) }
    }

    /// The bucket.
    #[must_use]
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// What a key holds.
    ///
    /// # Errors
    /// Where the bus refuses or does not answer.
    pub async fn get(&self, key: impl fmt::Display) -> Result<Option<Entry>, KvError> {
        let key = self.key(key)?;
        Ok(match self.last(&key).await? {
            Last::Value(entry) => Some(entry),
            Last::Deleted(_) | Last::Never => None,
        })
    }

    /// What a key holds, not behind any write that was acknowledged. For users of `BUS` alone.
    ///
    /// [`Kv::get`] is answered by any replica of the bucket, which may be behind.
    ///
    /// # Errors
    /// Where the bus refuses or does not answer.
    pub async fn latest(&self, key: impl fmt::Display) -> Result<Option<Entry>, KvError> {
        let key = self.key(key)?;
        let latest = bucket::latest(&self.bus, &self.bucket, &self.bucket.subject(&key)).await;
        let latest = latest.map_err(|error| self.asked_in_vain("get", &key, error))?;
        let entry = |latest: Latest| Entry { revision: latest.sequence, value: latest.value };
        Ok(latest.filter(|latest| !latest.deletes).map(entry))
    }

    /// Writes a key, whatever it holds; returns its revision.
    ///
    /// # Errors
    /// Where the bus refuses or does not answer.
    pub async fn put(&self, key: impl fmt::Display, value: impl Into<Bytes>) -> Result<u64, KvError> {
        let key = self.key(key)?;
        self.write("put", &key, value.into(), Expected::Anything).await
    }

    /// Writes a key that holds nothing.
    ///
    /// # Errors
    /// [`KvError::Conflict`] where it holds something; or where the bus refuses or does not answer.
    pub async fn create(&self, key: impl fmt::Display, value: impl Into<Bytes>) -> Result<u64, KvError> {
        let key = self.key(key)?;
        let value = value.into();
        let revision = match self.last(&key).await? {
            Last::Value(_) => return Err(self.conflict(&key)),
            Last::Deleted(revision) => revision,
            Last::Never => 0,
        };
        self.write("put", &key, value, Expected::Revision(revision)).await
    }

    /// Writes a key that is still at this revision.
    ///
    /// # Errors
    /// [`KvError::Conflict`] where it is not; or where the bus refuses or does not answer.
    pub async fn update(
        &self,
        key: impl fmt::Display,
        value: impl Into<Bytes>,
        revision: u64,
    ) -> Result<u64, KvError> {
        let key = self.key(key)?;
        self.write("put", &key, value.into(), Expected::Revision(revision)).await
    }

    /// Deletes a key, whatever it holds; returns the revision of the mark that it leaves.
    ///
    /// # Errors
    /// Where the bus refuses or does not answer.
    pub async fn delete(&self, key: impl fmt::Display) -> Result<u64, KvError> {
        let key = self.key(key)?;
        self.write("delete", &key, Bytes::new(), Expected::Anything).await
    }

    /// Deletes a key that is still at this revision.
    ///
    /// # Errors
    /// [`KvError::Conflict`] where it is not; or where the bus refuses or does not answer.
    pub async fn delete_at(&self, key: impl fmt::Display, revision: u64) -> Result<(), KvError> {
        let key = self.key(key)?;
        self.write("delete", &key, Bytes::new(), Expected::Revision(revision)).await.map(drop)
    }

    fn key(&self, key: impl fmt::Display) -> Result<String, KvError> {
        let key = key.to_string();
        if is_key(&key) { Ok(key) } else { Err(KvError::Key { bucket: self.bucket.to_string(), key }) }
    }

    async fn last(&self, key: &str) -> Result<Last, KvError> {
        let subject = grants::get_subject(&self.bucket, key);
        let answer = self.bus.request(subject, None, Bytes::new()).await;
        let answer = answer.map_err(|source| self.unanswered("get", key, source))?;
        match answer.status {
            None => {}
            Some(status) if status.as_u16() == 404 => return Ok(Last::Never),
            Some(status) => return Err(self.refused("get", key, status.to_string())),
        }
        let revision = header(&answer, SEQUENCE).and_then(|text| text.parse().ok());
        let revision =
            revision.ok_or_else(|| self.refused("get", key, "an answer without a revision".to_owned()))?;
        Ok(match deletes(&answer) {
            true => Last::Deleted(revision),
            false => Last::Value(Entry { revision, value: answer.payload }),
        })
    }

    async fn write(
        &self,
        doing: &'static str,
        key: &str,
        value: Bytes,
        expected: Expected,
    ) -> Result<u64, KvError> {
        if value.len() > MAX_VALUE {
            let (bucket, key) = (self.bucket.to_string(), key.to_owned());
            return Err(KvError::TooLarge { bucket, key, size: value.len() });
        }
        let mut headers = HeaderMap::new();
        if doing == "delete" {
            headers.insert(OPERATION, "DEL");
        }
        if let Expected::Revision(revision) = expected {
            headers.insert(EXPECTED, revision.to_string().as_str());
        }
        if let Some(fence) = &self.fence {
            return write::behind(fence, self, write::Write { doing, key, headers, value, expected }).await;
        }
        let headers = Some(headers).filter(|headers| !headers.is_empty());
        let answer = self.bus.request(self.bucket.subject(key), headers, value).await;
        let answer = answer.map_err(|source| self.unanswered(doing, key, source))?;
        client::written(&answer.payload).map_err(|refusal| match refusal.is_wrong_sequence() {
            true => self.conflict(key),
            false => self.refused(doing, key, refusal.why),
        })
    }

    fn conflict(&self, key: &str) -> KvError {
        KvError::Conflict { bucket: self.bucket.to_string(), key: key.to_owned() }
    }

    fn refused(&self, doing: &'static str, key: &str, why: String) -> KvError {
        KvError::Refused { doing, bucket: self.bucket.to_string(), key: key.to_owned(), why }
    }

    fn denied(&self, doing: &'static str, key: &str) -> KvError {
        let (bucket, key, account) =
            (self.bucket.to_string(), key.to_owned(), self.bus.account().to_string());
        KvError::Denied { doing, bucket, key, account }
    }

    fn asked_in_vain(&self, doing: &'static str, key: &str, error: BucketError) -> KvError {
        match error {
            BucketError::Ask { source, .. } => self.unanswered(doing, key, source),
            BucketError::Refused { why, .. } => self.refused(doing, key, why),
        }
    }

    fn unanswered(&self, doing: &'static str, key: &str, source: RequestError) -> KvError {
        match source {
            RequestError::NoResponders { .. } | RequestError::Denied { .. } => self.denied(doing, key),
            source => {
                let (bucket, key) = (self.bucket.to_string(), key.to_owned());
                KvError::Unknown { doing, bucket, key, source }
            }
        }
    }
}

/// What a key may be: what async-nats takes, and no wildcard or empty token.
fn is_key(key: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'=' | b'/');
    key.len() <= MAX_KEY && key.split('.').all(|token| !token.is_empty() && token.bytes().all(plain))
}

pub(crate) fn header<'a>(message: &'a Message, name: &str) -> Option<&'a str> {
    Some(message.headers.as_ref()?.get(name)?.as_str())
}

/// Whether a message of a bucket takes its key away.
pub(crate) fn deletes(message: &Message) -> bool {
    // A marker that the server itself left says why instead: `MaxAge`, `Purge`, `Remove`.
    matches!(header(message, OPERATION), Some("DEL" | "PURGE"))
        || header(message, "Nats-Marker-Reason").is_some()
}

#[cfg(test)]
mod tests;

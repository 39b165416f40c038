//! One round of a mirror: the whole state, then the changes.
//!
//! By a consumer of a known name with one filter, both in the subject, as the grants have it. It is made anew
//! each round, in the server's memory, and is gone by itself when nobody fetches by it.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::{MirrorError, Scope, Shared};
use crate::client::{self, Bus, RequestError};
use crate::kv::{Entry, deletes};

/// How many messages are fetched at once while the whole state is read: they may be of the longest kind.
const BATCH: usize = 100;
/// How many changes one fetch waits for.
const CHANGES: usize = 1000;
/// While nothing changes, the server says at this interval that it is there.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// The answer to a fetch that brings nothing at once.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the server keeps a consumer by which nobody fetches.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// What a message of a fetch says.
enum News {
    /// A key has a value, or none any more.
    Key(String, Option<Entry>),
    /// There is nothing more at this moment.
    Drained,
    /// The fetch has brought all that it may.
    Ended,
    /// The server is there, and nothing has changed.
    Heartbeat,
}

/// Reads the whole state, then follows it until a time.
pub(super) async fn run(
    bus: &Bus,
    scope: &Scope,
    shared: &Shared,
    until: Instant,
) -> Result<(), MirrorError> {
    let consumer = bus.consumer(&scope.usage);
    let stream = scope.bucket.stream();
    let answers = Round { bus, scope, consumer: &consumer, stream: &stream };
    let pending = answers.make_consumer().await?;
    let mut inbox = answers.listen().await?;
    let entries = answers.whole(&mut inbox, pending).await?;
    shared.replace(entries);
    answers.changes(&mut inbox, shared, until).await
}

struct Round<'a> {
    bus: &'a Bus,
    scope: &'a Scope,
    consumer: &'a str,
    stream: &'a str,
}

/// What the server says of a consumer that it made.
#[derive(Deserialize)]
struct Made {
    #[serde(default)]
    num_pending: u64,
}

/// Where the answers to fetches arrive.
struct Inbox {
    subject: String,
    messages: Subscriber,
}

impl Round<'_> {
    /// Makes the consumer; returns how many messages the whole state has.
    async fn make_consumer(&self) -> Result<u64, MirrorError> {
        let (api, stream, consumer) = (self.bus.api(), self.stream, self.consumer);
        let filter = self.scope.bucket.subject(&self.scope.filter);
        // One that is there would go on from where it was.
        let gone = format!("{api}.CONSUMER.DELETE.{stream}.{consumer}");
        self.bus.request(gone, None, Bytes::new()).await.map_err(|e| self.unanswered(e))?;
        let create = format!("{api}.CONSUMER.CREATE.{stream}.{consumer}.{filter}");
        let config = json!({
            "stream_name": stream,
            "config": {
                "name": consumer,
                "deliver_policy": "last_per_subject",
                "ack_policy": "none",
                "replay_policy": "instant",
                "filter_subject": filter,
                "inactive_threshold": u64::try_from(FORGOTTEN_AFTER.as_nanos()).expect("a minute"),
                "mem_storage": true,
                "num_replicas": 1,
                "max_waiting": 8,
            },
        });
        let answer = self.bus.request(create, None, config.to_string().into()).await;
        let answer = answer.map_err(|e| self.unanswered(e))?;
        if let Some((_, why)) = client::api_error(&answer.payload) {
            return Err(self.refused(why));
        }
        let made: Made = serde_json::from_slice(&answer.payload)
            .map_err(|error| self.refused(format!("an answer that cannot be read: {error}")))?;
        Ok(made.num_pending)
    }

    async fn listen(&self) -> Result<Inbox, MirrorError> {
        let subject = self.bus.client().new_inbox();
        let messages = self.bus.client().subscribe(subject.clone()).await;
        let messages = messages.map_err(|error| self.refused(error.to_string()))?;
        Ok(Inbox { subject, messages })
    }

    async fn fetch(&self, inbox: &Inbox, what: serde_json::Value) -> Result<(), MirrorError> {
        let next = format!("{}.CONSUMER.MSG.NEXT.{}.{}", self.bus.api(), self.stream, self.consumer);
        let sent =
            self.bus.client().publish_with_reply(next, inbox.subject.clone(), what.to_string().into()).await;
        sent.map_err(|error| self.refused(error.to_string()))
    }

    /// Fetches until there is nothing more. A state that ended short is none: what it lacks would be taken to be gone.
    async fn whole(&self, inbox: &mut Inbox, pending: u64) -> Result<BTreeMap<String, Entry>, MirrorError> {
        let mut entries = BTreeMap::new();
        let mut read = 0;
        loop {
            self.fetch(inbox, json!({"batch": BATCH, "no_wait": true})).await?;
            for _ in 0..BATCH {
                match self.next(inbox, Instant::now() + PATIENCE).await? {
                    News::Key(key, Some(entry)) => drop(entries.insert(key, entry)),
                    News::Key(key, None) => drop(entries.remove(&key)),
                    News::Drained | News::Ended if read < pending => {
                        return Err(self.refused(format!("it ended after {read} of {pending} keys")));
                    }
                    News::Drained | News::Ended => return Ok(entries),
                    News::Heartbeat => continue,
                }
                read += 1;
            }
        }
    }

    async fn changes(&self, inbox: &mut Inbox, shared: &Shared, until: Instant) -> Result<(), MirrorError> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let (left, heartbeat) = (left.max(Duration::from_millis(100)), HEARTBEAT.min(left / 2));
            self.fetch(
                inbox,
                json!({"batch": CHANGES, "expires": nanos(left), "idle_heartbeat": nanos(heartbeat)}),
            )
            .await?;
            for _ in 0..CHANGES {
                match self.next(inbox, Instant::now() + HEARTBEAT * 3).await? {
                    News::Key(key, entry) => shared.change(key, entry),
                    News::Heartbeat => {}
                    News::Drained | News::Ended => break,
                }
            }
        }
    }

    async fn next(&self, inbox: &mut Inbox, deadline: Instant) -> Result<News, MirrorError> {
        match tokio::time::timeout_at(deadline, inbox.messages.next()).await {
            Ok(Some(message)) => self.read(message),
            Ok(None) => Err(self.refused("the connection is closed".to_owned())),
            Err(_) => Err(self.refused("it has fallen silent".to_owned())),
        }
    }

    fn read(&self, message: Message) -> Result<News, MirrorError> {
        match message.status.map(|status| status.as_u16()) {
            None | Some(200) => {}
            Some(100) => return Ok(News::Heartbeat),
            Some(404) => return Ok(News::Drained),
            Some(408) => return Ok(News::Ended),
            Some(503) => return Err(self.denied()),
            Some(status) => {
                let why = message.description.as_deref().unwrap_or("no reason given");
                return Err(self.refused(format!("{status} {why}")));
            }
        }
        let prefix = self.scope.bucket.subject("");
        let Some(key) = message.subject.strip_prefix(&prefix) else {
            return Err(self.refused(format!("a message on {}", message.subject)));
        };
        let revision = message.reply.as_deref().and_then(revision);
        let revision = revision.ok_or_else(|| self.refused("a message without a revision".to_owned()))?;
        let key = key.to_owned();
        let entry = if deletes(&message) { None } else { Some(Entry { revision, value: message.payload }) };
        Ok(News::Key(key, entry))
    }

    fn denied(&self) -> MirrorError {
        let (bucket, filter) = (self.scope.bucket.to_string(), self.scope.filter.clone());
        MirrorError::Denied { bucket, filter, account: self.bus.account().to_string() }
    }

    fn refused(&self, why: String) -> MirrorError {
        let (bucket, filter) = (self.scope.bucket.to_string(), self.scope.filter.clone());
        MirrorError::Refused { bucket, filter, why }
    }

    fn unanswered(&self, source: RequestError) -> MirrorError {
        match source {
            RequestError::NoResponders { .. } | RequestError::Denied { .. } => self.denied(),
            source => {
                let (bucket, filter) = (self.scope.bucket.to_string(), self.scope.filter.clone());
                MirrorError::Ask { bucket, filter, source }
            }
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The stream's sequence in `$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.…`, or the longer form with a
/// domain.
fn revision(reply: &str) -> Option<u64> {
    let tokens: Vec<&str> = reply.strip_prefix("$JS.ACK.")?.split('.').collect();
    let at = match tokens.len() {
        7 => 3,
        9.. => 5,
        _ => return None,
    };
    tokens.get(at)?.parse().ok()
}

#[cfg(test)]
mod tests;

//! All that a bucket holds, read once, for an account that may read all of it.
//!
//! Start at [`Kv::whole`]. It asks for one message after another by its place in the stream, so nothing is left on
//! the server, and two that read at the same moment, under one name, know nothing of each other. Who wants to be
//! told of changes holds a [`Mirror`](crate::Mirror), of which an account has one for each use.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::{Message, Subscriber};
use futures_util::StreamExt;
use serde_json::json;

use super::{Entry, Kv, KvError, SEQUENCE, deletes, header};
use crate::client::RequestError;
use crate::grants;

/// How many messages one question asks for.
const BATCH: u64 = 500;
/// How long the next message may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often reading is begun anew where messages were lost on the way.
const ATTEMPTS: usize = 3;
/// What is told as the key, where no key can be.
const ALL: &str = ">";

/// What came of one attempt.
enum Read {
    Whole(BTreeMap<String, Entry>),
    Lost,
}

/// How far one batch has come.
struct Place {
    /// Where in the stream to go on.
    next: u64,
    /// How many messages are behind the last one; none before the first.
    left: Option<u64>,
}

/// What came of one batch.
enum Batch {
    Last,
    More,
    Lost,
}

impl Kv {
    /// All that the bucket holds. What is written meanwhile may be in it or not; a key is never missing that was there
    /// all the time.
    ///
    /// # Errors
    /// Where the bus refuses or does not answer, or where messages were lost on the way again and again.
    pub async fn whole(&self) -> Result<BTreeMap<String, Entry>, KvError> {
        for _ in 0..ATTEMPTS {
            let mut connections = self.bus.connections();
            connections.mark_unchanged();
            match self.read().await? {
                // What was under way when the connection was made anew is gone.
                Read::Whole(entries) if !connections.has_changed().unwrap_or(true) => return Ok(entries),
                Read::Whole(_) | Read::Lost => {}
            }
        }
        Err(self.refused("read", ALL, "messages are lost on the way again and again".to_owned()))
    }

    async fn read(&self) -> Result<Read, KvError> {
        let inbox = self.bus.client().new_inbox();
        let messages = self.bus.client().subscribe(inbox.clone()).await;
        let mut messages = messages.map_err(|error| self.refused("read", ALL, error.to_string()))?;
        let mut entries = BTreeMap::new();
        let mut place = Place { next: 1, left: None };
        loop {
            self.ask(&inbox, place.next).await?;
            match self.batch(&mut messages, &mut place, &mut entries).await? {
                Batch::Last => return Ok(Read::Whole(entries)),
                Batch::More => place.left = None,
                Batch::Lost => return Ok(Read::Lost),
            }
        }
    }

    async fn ask(&self, inbox: &str, next: u64) -> Result<(), KvError> {
        let subject = grants::whole_subject(&self.bucket);
        let what = json!({"seq": next, "batch": BATCH, "next_by_subj": self.bucket.subject(ALL)});
        let sent = self.bus.client().publish_with_reply(subject, inbox.to_owned(), what.to_string().into());
        sent.await.map_err(|error| self.refused("read", ALL, error.to_string()))
    }

    async fn batch(
        &self,
        messages: &mut Subscriber,
        place: &mut Place,
        entries: &mut BTreeMap<String, Entry>,
    ) -> Result<Batch, KvError> {
        loop {
            let message = self.next(messages).await?;
            match message.status.map(|status| status.as_u16()) {
                None | Some(200) => {}
                Some(204) => {
                    let last = number(&message, "Nats-Last-Sequence");
                    return Ok(match place.left {
                        _ if last.is_some_and(|last| last + 1 != place.next) => Batch::Lost,
                        Some(0) => Batch::Last,
                        Some(_) => Batch::More,
                        None => Batch::Lost,
                    });
                }
                // There is nothing from here on.
                Some(404) if place.left.is_none() => return Ok(Batch::Last),
                Some(503) => return Err(self.denied("read", ALL)),
                Some(status) => {
                    let why = message.description.as_deref().unwrap_or("no reason given");
                    return Err(self.refused("read", ALL, format!("{status} {why}")));
                }
            }
            if !self.take(message, place, entries)? {
                return Ok(Batch::Lost);
            }
        }
    }

    async fn next(&self, messages: &mut Subscriber) -> Result<Message, KvError> {
        let gone = |source| self.unanswered("read", ALL, source);
        let subject = || grants::whole_subject(&self.bucket);
        match tokio::time::timeout(PATIENCE, messages.next()).await {
            Ok(Some(message)) => Ok(message),
            Ok(None) => {
                Err(gone(RequestError::Closed { subject: subject(), why: "it has ended".to_owned() }))
            }
            Err(_) => Err(gone(RequestError::TimedOut { subject: subject() })),
        }
    }

    /// Takes one message; says whether it is the one behind the last.
    fn take(
        &self,
        message: Message,
        place: &mut Place,
        entries: &mut BTreeMap<String, Entry>,
    ) -> Result<bool, KvError> {
        let subject = header(&message, "Nats-Subject").map(str::to_owned);
        let (Some(revision), Some(left), Some(subject)) =
            (number(&message, SEQUENCE), number(&message, "Nats-Num-Pending"), subject)
        else {
            return Err(self.refused("read", ALL, "a message that does not say what it is".to_owned()));
        };
        if place.left.is_some_and(|before| left + 1 != before) {
            return Ok(false);
        }
        *place = Place { next: revision + 1, left: Some(left) };
        let Some(key) = subject.strip_prefix(&self.bucket.subject("")) else {
            return Err(self.refused("read", ALL, format!("a message of {subject}")));
        };
        match deletes(&message) {
            true => drop(entries.remove(key)),
            false => drop(entries.insert(key.to_owned(), Entry { revision, value: message.payload })),
        }
        Ok(true)
    }
}

fn number(message: &Message, name: &str) -> Option<u64> {
    header(message, name)?.parse().ok()
}

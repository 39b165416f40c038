//! A journal: what a seat keeps for itself, row by row, in a stream of an account of its own.
//!
//! Start at [`Journal::open`]. Whoever holds the seat appends, behind the end that it knows ([`Journal::append`]): where anybody has
//! written since, it is refused, so a former holder appends nothing any more. Whoever stands by reads ([`Journal::read`]). The stream
//! keeps the last of each row, so that it stays as long as what it says; a row that was taken away leaves a mark.
//!
//! What a row says is nobody's business here.

use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use data_encoding::BASE64;
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;
use tokio::time::Instant;

use crate::batch::{self, Part};
use crate::client::{self, Bus, RequestError};

const EXPECTED: &str = "Nats-Expected-Last-Sequence";
const COMMIT: &str = "Mesh-Commit";
const TAKEN_AWAY: &str = "Mesh-Taken-Away";
/// How long it is tried to learn what came of what was appended.
const PATIENCE: Duration = Duration::from_secs(8);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(50);
/// How many rows are appended as one at most: what the server takes as one batch.
pub const MOST: usize = 1000;

/// One row: what it says from now on, or that it is taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Words of what a key may hold, with dots between them.
    pub key: String,
    /// What it says; nothing where it is taken away.
    pub value: Option<Bytes>,
}

/// A row, and where in the journal it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its place.
    pub sequence: u64,
    /// What it says.
    pub row: Row,
}

/// Why a journal could not be read or written.
#[derive(Debug, Error)]
pub enum JournalError {
    /// Somebody has appended since: whoever holds the seat now.
    #[error("another has written the journal {journal}")]
    Moved {
        /// Which.
        journal: String,
    },
    /// No answer: what was appended may be there or not.
    #[error("cannot {doing} the journal {journal}")]
    Ask {
        /// What was being done.
        doing: &'static str,
        /// Which.
        journal: String,
        /// Why there is no answer.
        #[source]
        source: RequestError,
    },
    /// The server refused.
    #[error("the server refused to {doing} the journal {journal}: {why}")]
    Refused {
        /// What was being done.
        doing: &'static str,
        /// Which.
        journal: String,
        /// In the server's words.
        why: String,
    },
}

/// A journal.
#[derive(Debug, Clone)]
pub struct Journal {
    bus: Bus,
    stream: String,
}

#[derive(Deserialize)]
struct Info {
    state: State,
}

#[derive(Deserialize)]
struct State {
    last_seq: u64,
}

#[derive(Deserialize)]
struct Got {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    subject: String,
    seq: u64,
    #[serde(default)]
    hdrs: String,
    #[serde(default)]
    data: String,
}

const NO_MESSAGE: u64 = 10037;

impl Journal {
    /// Opens the journal of this name, and makes it where there is none. The connection is of the account that it is in, which has
    /// streams of its own.
    ///
    /// # Errors
    /// Where the server cannot be asked, or refuses.
    pub async fn open(bus: &Bus, name: &str) -> Result<Self, JournalError> {
        let journal = Self { bus: bus.clone(), stream: name.to_owned() };
        let settings = json!({
            "name": name,
            "subjects": [journal.subject(">")],
            "retention": "limits",
            "max_msgs_per_subject": 1,
            "discard": "new",
            "storage": "file",
            "num_replicas": 1,
            "allow_rollup_hdrs": false,
            "deny_delete": true,
            "deny_purge": true,
            "allow_direct": false,
            "allow_atomic": true,
        });
        journal.call("make", "STREAM.CREATE", &settings).await?;
        Ok(journal)
    }

    fn subject(&self, key: &str) -> String {
        format!("journal.{}.{key}", self.stream)
    }

    /// The place of the last row.
    ///
    /// # Errors
    /// Where the server cannot be asked.
    pub async fn end(&self) -> Result<u64, JournalError> {
        let info = self.call("look at", "STREAM.INFO", &json!({})).await?;
        Ok(self.parsed::<Info>("look at", &info)?.state.last_seq)
    }

    /// Appends rows as one, at most [`MOST`], where `end` is the place of the last row; returns the place of the last of them.
    ///
    /// # Errors
    /// [`JournalError::Moved`] where somebody else has appended; [`JournalError::Ask`] where it is not known what came of it.
    pub async fn append(&self, rows: &[Row], end: u64) -> Result<u64, JournalError> {
        let commit = self.bus.client().new_inbox();
        let until = Instant::now() + PATIENCE;
        loop {
            let error = match self.try_to_append(rows, end, &commit).await {
                Err(JournalError::Moved { .. }) => match self.ours(&commit).await {
                    Ok(Some(last)) => return Ok(last),
                    Ok(None) => return Err(self.moved()),
                    Err(error) => error,
                },
                Err(error @ JournalError::Ask { .. }) => error,
                ended => return ended,
            };
            if Instant::now() >= until {
                return Err(error);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn try_to_append(&self, rows: &[Row], end: u64, commit: &str) -> Result<u64, JournalError> {
        let part = |(at, row): (usize, &Row)| {
            let mut headers = HeaderMap::new();
            headers.insert(COMMIT, commit);
            if at == 0 {
                headers.insert(EXPECTED, end.to_string().as_str());
            }
            if row.value.is_none() {
                headers.insert(TAKEN_AWAY, "1");
            }
            let payload = row.value.clone().unwrap_or_default();
            Part { subject: self.subject(&row.key), headers, payload }
        };
        let parts: Vec<Part> = rows.iter().enumerate().map(part).collect();
        let answer = batch::publish(&self.bus, parts).await;
        let answer = answer.map_err(|source| self.unanswered("append to", source))?;
        client::written(&answer.payload).map_err(|refusal| match refusal {
            refusal if refusal.may_pass() => {
                let why = refusal.why;
                self.unanswered("append to", RequestError::Closed { subject: self.subject(">"), why })
            }
            refusal if refusal.is_wrong_sequence() => self.moved(),
            refusal => self.refused("append to", refusal.why),
        })
    }

    /// The place of the last row, where it is of this commit.
    async fn ours(&self, commit: &str) -> Result<Option<u64>, JournalError> {
        let end = self.end().await?;
        let last = self.get(&json!({ "seq": end })).await?;
        let is_ours =
            |message: &Message| self.headers(message).is_ok_and(|headers| says(&headers, COMMIT, commit));
        Ok(last.filter(is_ours).map(|_| end))
    }

    /// The rows behind a place, up to another, as they are now: each once, by its last place.
    ///
    /// # Errors
    /// Where the server cannot be asked, or a row cannot be read.
    pub async fn read(&self, behind: u64, until: u64) -> Result<Vec<Line>, JournalError> {
        let mut lines = Vec::new();
        let mut next = behind + 1;
        while next <= until {
            let what = json!({ "seq": next, "next_by_subj": self.subject(">") });
            let Some(message) = self.get(&what).await? else { break };
            next = message.seq + 1;
            lines.push(self.line(&message)?);
        }
        Ok(lines)
    }

    /// What a row says now, and since which place.
    ///
    /// # Errors
    /// Where the server cannot be asked.
    pub async fn row(&self, key: &str) -> Result<Option<Line>, JournalError> {
        let what = json!({ "last_by_subj": self.subject(key) });
        self.get(&what).await?.map(|message| self.line(&message)).transpose()
    }

    fn line(&self, message: &Message) -> Result<Line, JournalError> {
        let key = message.subject.strip_prefix(&self.subject(""));
        let key = key.ok_or_else(|| self.refused("read", format!("a message of {}", message.subject)))?;
        let value = match says(&self.headers(message)?, TAKEN_AWAY, "1") {
            true => None,
            false => Some(self.decoded(&message.data)?.into()),
        };
        Ok(Line { sequence: message.seq, row: Row { key: key.to_owned(), value } })
    }

    fn headers(&self, message: &Message) -> Result<String, JournalError> {
        Ok(String::from_utf8_lossy(&self.decoded(&message.hdrs)?).into_owned())
    }

    fn decoded(&self, text: &str) -> Result<Vec<u8>, JournalError> {
        BASE64.decode(text.as_bytes()).map_err(|error| self.refused("read", error.to_string()))
    }

    async fn get(&self, what: &serde_json::Value) -> Result<Option<Message>, JournalError> {
        let answer = self.ask("read", "STREAM.MSG.GET", what).await?;
        match client::api_error(&answer) {
            Some((NO_MESSAGE, _)) => Ok(None),
            Some((_, why)) => Err(self.refused("read", why)),
            None => Ok(Some(self.parsed::<Got>("read", &answer)?.message)),
        }
    }

    async fn call(
        &self,
        doing: &'static str,
        call: &str,
        what: &serde_json::Value,
    ) -> Result<Bytes, JournalError> {
        let answer = self.ask(doing, call, what).await?;
        match client::api_error(&answer) {
            Some((_, why)) => Err(self.refused(doing, why)),
            None => Ok(answer),
        }
    }

    async fn ask(
        &self,
        doing: &'static str,
        call: &str,
        what: &serde_json::Value,
    ) -> Result<Bytes, JournalError> {
        let subject = format!("{}.{call}.{}", self.bus.api(), self.stream);
        let answer = self.bus.request(subject, None, what.to_string().into()).await;
        answer.map(|answer| answer.payload).map_err(|source| self.unanswered(doing, source))
    }

    fn parsed<'a, T: Deserialize<'a>>(
        &self,
        doing: &'static str,
        answer: &'a [u8],
    ) -> Result<T, JournalError> {
        serde_json::from_slice(answer)
            .map_err(|error| self.refused(doing, format!("an answer that cannot be read: {error}")))
    }

    fn moved(&self) -> JournalError {
        JournalError::Moved { journal: self.stream.clone() }
    }

    fn unanswered(&self, doing: &'static str, source: RequestError) -> JournalError {
        JournalError::Ask { doing, journal: self.stream.clone(), source }
    }

    fn refused(&self, doing: &'static str, why: String) -> JournalError {
        JournalError::Refused { doing, journal: self.stream.clone(), why }
    }
}

/// Whether the text of a message's headers holds this one.
fn says(headers: &str, name: &str, value: &str) -> bool {
    headers.lines().any(|line| line.split_once(':').is_some_and(|(n, v)| n == name && v.trim() == value))
}

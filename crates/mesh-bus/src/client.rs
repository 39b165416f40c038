//! A connection to the bus, as one account.
//!
//! Start at [`Bus::connect`]. Everything else of this crate that talks goes through [`Bus::request`]: it
//! asks, awaits the answer with a time-out, and turns what the server refuses into an error at once. An
//! account of its own is told `no responders`; a user of `BUS` is told nothing but an event, so the events
//! are matched to the request that waits.
//!
//! This file knows no keys, no buckets and no verbs.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use async_nats::{ConnectOptions, Event, HeaderMap, Message, ServerError};
use bytes::Bytes;
use serde::Deserialize;
use thiserror::Error;
use tokio::sync::{broadcast, watch};

use crate::account::{Account, Usage};
use crate::address::{Address, AddressError};
use crate::creds::Creds;
use crate::grants;

/// How long an answer is waited for.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a server may take to let us in.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause between two attempts to connect.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);
/// Where the JetStream API of `BUS` is found by an account that imports it.
pub(crate) const IMPORTED_API: &str = "bus.API";
/// Where a user of `BUS` finds it.
pub(crate) const OWN_API: &str = "$JS.API";

/// What to do where the server is not there yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstTry {
    /// Fail at once: for commands.
    Fails,
    /// Keep trying in the background: for services.
    IsRepeated,
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The server cannot be reached, or does not know us.
    #[error("cannot connect to the bus at {at} as `{account}`")]
    Connect {
        /// Where.
        at: String,
        /// As whom.
        account: String,
        /// Why not.
        #[source]
        source: async_nats::ConnectError,
    },
    /// The address is none.
    #[error(transparent)]
    Address(#[from] AddressError),
}

impl ConnectError {
    /// Whether the server is there, and does not know us or will not have us.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        use async_nats::ConnectErrorKind as Kind;
        let Self::Connect { source, .. } = self else { return false };
        matches!(source.kind(), Kind::AuthorizationViolation | Kind::Authentication)
    }
}

/// Why a question got no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// Nobody answers on this subject: it is not granted to the account, or whoever answers is not there.
    #[error("nobody answers `{account}` on {subject}")]
    NoResponders {
        /// Where was asked.
        subject: String,
        /// Who asked.
        account: String,
    },
    /// The server refused the subject to this user.
    #[error("`{account}` may not ask on {subject}")]
    Denied {
        /// Where was asked.
        subject: String,
        /// Who asked.
        account: String,
    },
    /// No answer in time: what was asked for may have been done all the same.
    #[error("no answer on {subject} in time")]
    TimedOut {
        /// Where was asked.
        subject: String,
    },
    /// The question is longer than the server takes.
    #[error("the message for {subject} is longer than the bus takes")]
    TooLarge {
        /// Where was asked.
        subject: String,
    },
    /// The connection is closed, or the subject is none.
    #[error("cannot ask on {subject}: {why}")]
    Closed {
        /// Where was asked.
        subject: String,
        /// In the client's words.
        why: String,
    },
}

/// A connection to the bus. Clones share it.
#[derive(Clone)]
pub struct Bus {
    client: async_nats::Client,
    account: Account,
    refusals: broadcast::Sender<String>,
    connections: watch::Receiver<u64>,
    instance: String,
}

impl std::fmt::Debug for Bus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bus").field("account", &self.account).finish_non_exhaustive()
    }
}

impl Bus {
    /// Connects as whom the credentials say, and reconnects for as long as it lives.
    ///
    /// # Errors
    /// Where the server cannot be reached ([`FirstTry::Fails`]), or the address is none.
    pub async fn connect(
        at: impl Into<Address>,
        creds: &Creds,
        first: FirstTry,
    ) -> Result<Self, ConnectError> {
        let at = at.into();
        let account = creds.account().clone();
        let (refusals, _) = broadcast::channel(64);
        let (connected, connections) = watch::channel(0);
        let options = options(&at, creds.token(), creds.key(), &account.to_string());
        let options = match first {
            FirstTry::Fails => options,
            FirstTry::IsRepeated => options.retry_on_initial_connect(),
        };
        let (name, tell) = (account.to_string(), refusals.clone());
        let options = options.custom_inbox_prefix(inbox(&account)).event_callback(move |event| {
            note(&event, &name, &tell, &connected);
            std::future::ready(())
        });
        let client = options.connect(at.servers()?).await.map_err(|source| ConnectError::Connect {
            at: at.to_string(),
            account: account.to_string(),
            source,
        })?;
        let instance = client.new_inbox().rsplit('.').next().unwrap_or_default().to_owned();
        Ok(Self { client, account, refusals, connections, instance })
    }

    /// Who we are.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The client below, for tests that speak to the bus as any other program would.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn nats(&self) -> &async_nats::Client {
        &self.client
    }

    /// Asks on a subject as it is, and awaits the answer, for tests that try what nobody does.
    ///
    /// # Errors
    /// As every question: at once where it is refused.
    #[cfg(feature = "testing")]
    pub async fn ask(
        &self,
        subject: &str,
        headers: HeaderMap,
        payload: impl Into<Bytes>,
    ) -> Result<Message, RequestError> {
        let headers = Some(headers).filter(|headers| !headers.is_empty());
        self.request(subject.to_owned(), headers, payload.into()).await
    }

    pub(crate) fn client(&self) -> &async_nats::Client {
        &self.client
    }

    /// Whether the server is there now.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }

    /// Waits until what was sent has reached the server, then ends the connection.
    pub async fn close(&self) {
        if let Err(error) = self.client.drain().await {
            tracing::debug!(%error, account = %self.account, "the connection was closed already");
        }
    }

    /// How often the server was connected to: changes when what the server held for us is gone.
    pub(crate) fn connections(&self) -> watch::Receiver<u64> {
        self.connections.clone()
    }

    /// What our consumer for one use is called. Several processes may be of one seat, and read at the same time.
    pub(crate) fn consumer(&self, usage: &Usage) -> String {
        let name = self.account.consumer(usage);
        if self.account.is_apart() { name } else { format!("{name}-{}", self.instance) }
    }

    pub(crate) fn api(&self) -> &'static str {
        if self.account.is_apart() { IMPORTED_API } else { OWN_API }
    }

    /// Asks, and awaits the answer.
    pub(crate) async fn request(
        &self,
        subject: String,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<Message, RequestError> {
        self.request_within(REQUEST_TIMEOUT, subject, headers, payload).await
    }

    /// Asks, and awaits the answer for so long.
    pub(crate) async fn request_within(
        &self,
        patience: Duration,
        subject: String,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<Message, RequestError> {
        if payload.len() > grants::longest_message(&self.account) {
            // The server would end the connection, and say nothing to whoever waits.
            return Err(RequestError::TooLarge { subject });
        }
        let mut refusals = self.refusals.subscribe();
        let mut request = async_nats::Request::new().payload(payload).timeout(Some(patience));
        request.headers = headers;
        let answer = self.client.send_request(subject.clone(), request);
        let refused = async {
            loop {
                match refusals.recv().await {
                    Ok(refused) if refused == subject => return,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
                }
            }
        };
        let account = self.account.to_string();
        tokio::select! {
            answer = answer => answer.map_err(|error| failed(&error, &subject, account)),
            () = refused => Err(RequestError::Denied { subject: subject.clone(), account }),
        }
    }
}

fn failed(error: &async_nats::RequestError, subject: &str, account: String) -> RequestError {
    use async_nats::RequestErrorKind as Kind;
    let subject = subject.to_owned();
    match error.kind() {
        Kind::NoResponders => RequestError::NoResponders { subject, account },
        Kind::TimedOut => RequestError::TimedOut { subject },
        Kind::MaxPayloadExceeded => RequestError::TooLarge { subject },
        _ => RequestError::Closed { subject, why: error.to_string() },
    }
}

/// What every connection has in common.
pub(crate) fn options(at: &Address, token: &str, key: &crate::creds::UserKey, name: &str) -> ConnectOptions {
    let key = key.clone();
    let options = ConnectOptions::with_jwt(token.to_owned(), move |nonce| {
        let key = key.clone();
        async move { key.sign(&nonce).map_err(async_nats::AuthError::new) }
    })
    .name(name)
    .connection_timeout(CONNECT_TIMEOUT)
    .request_timeout(Some(REQUEST_TIMEOUT))
    .ping_interval(Duration::from_secs(20))
    .max_reconnects(None)
    // We know all servers, by the names that stand in their certificates.
    .ignore_discovered_servers()
    .reconnect_delay_callback(reconnect_delay);
    match &at.ca {
        Some(ca) => options.require_tls(true).add_root_certificates(ca.clone()),
        None => options,
    }
}

/// Short at first, at most [`RECONNECT_DELAY`], and never the same for all, so that a server that is back is
/// not flooded.
fn reconnect_delay(attempts: usize) -> Duration {
    let full = Duration::from_millis(10 << attempts.min(6)).min(RECONNECT_DELAY);
    let random = u32::try_from(RandomState::new().hash_one(attempts) % 512).expect("less than 512");
    full / 2 + full / 2 * random / 512
}

/// The seats share an account, so each listens for answers under a prefix of its own.
pub(crate) fn inbox(account: &Account) -> String {
    match account {
        Account::Seat(seat) => format!("_INBOX.{seat}"),
        _ => "_INBOX".to_owned(),
    }
}

fn note(event: &Event, account: &str, refusals: &broadcast::Sender<String>, connected: &watch::Sender<u64>) {
    match event {
        Event::Connected => connected.send_modify(|times| *times += 1),
        Event::ServerError(ServerError::Other(text)) => match refused_subject(text) {
            Some(subject) => {
                tracing::error!(account, subject, "the bus refused it: {text}");
                // Nobody may be waiting for it: then the line above is all there is to do.
                let _ = refusals.send(subject.to_owned());
            }
            None => tracing::warn!(account, "the bus says: {text}"),
        },
        Event::Disconnected => tracing::info!(account, "the bus is away"),
        Event::SlowConsumer(_) => {
            tracing::warn!(account, "messages were lost: they came faster than they were read")
        }
        Event::ServerError(error) => tracing::warn!(account, %error, "the bus refused us"),
        Event::ClientError(error) => tracing::debug!(account, %error, "the connection failed"),
        Event::LameDuckMode | Event::Draining | Event::Closed => {}
    }
}

/// The subject in `Permissions Violation for Publish to "…"`.
fn refused_subject(text: &str) -> Option<&str> {
    let rest = text.split_once("ermissions Violation")?.1;
    rest.split('"').nth(1)
}

/// The error of an answer of the JetStream API: its code, and what it says.
pub(crate) fn api_error(payload: &[u8]) -> Option<(u64, String)> {
    let answer: serde_json::Value = match serde_json::from_slice(payload) {
        Ok(answer) => answer,
        Err(error) => return Some((0, format!("an answer that cannot be read: {error}"))),
    };
    let error = answer.get("error")?;
    let code = error.get("err_code").or_else(|| error.get("code")).and_then(serde_json::Value::as_u64);
    let why = error.get("description").and_then(serde_json::Value::as_str).unwrap_or("no reason given");
    Some((code.unwrap_or(0), why.to_owned()))
}

/// What the server answers to a message for a stream.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    duplicate: bool,
    error: Option<WriteRefusal>,
}

/// Why the server did not take a message into a stream.
#[derive(Debug, Deserialize)]
pub(crate) struct WriteRefusal {
    #[serde(default)]
    err_code: u64,
    #[serde(default, rename = "description")]
    pub(crate) why: String,
}

const WRONG_SEQUENCE: u64 = 10071;
const WRONG_SEQUENCE_CONSTANT: u64 = 10164;

impl WriteRefusal {
    fn new(why: impl Into<String>) -> Self {
        Self { err_code: 0, why: why.into() }
    }

    /// Whether what it expected is not so; or cannot be said yet, since another message is on its way.
    pub(crate) fn is_wrong_sequence(&self) -> bool {
        self.err_code == WRONG_SEQUENCE || self.may_pass()
    }

    /// Whether it may be taken when it is sent again, once what is on its way is written.
    pub(crate) fn may_pass(&self) -> bool {
        self.err_code == WRONG_SEQUENCE_CONSTANT
    }
}

/// The sequence that a message has in its stream, by the server's answer.
pub(crate) fn written(answer: &[u8]) -> Result<u64, WriteRefusal> {
    let answer: Written = serde_json::from_slice(answer)
        .map_err(|error| WriteRefusal::new(format!("an answer that cannot be read: {error}")))?;
    match answer {
        Written { error: Some(refusal), .. } => Err(refusal),
        Written { duplicate: true, .. } => {
            Err(WriteRefusal::new("it was taken for a duplicate of another message"))
        }
        Written { seq: 0, .. } => Err(WriteRefusal::new("an answer without a revision")),
        Written { seq, .. } => Ok(seq),
    }
}

#[cfg(test)]
mod tests;

//! Verbs: questions that a seat answers on the bus, as NATS micro services.
//!
//! Start at [`Service::start`] to answer and at [`ask`] to ask. JSON in, JSON out; what is refused is
//! `{"error":{"code","message","help"}}`, and no answer is ever empty.
//!
//! On the bus, the last word of a verb's subject is always who asks: a node may ask under its own name alone,
//! and what an operator asks, the bus itself hands on under the operator's name. So who asks is read there
//! ([`Ask::by`]), and never in the body.
//!
//! A node can have the server send it what it wrote itself, to any one subject that somebody listens on (a
//! consumer that pushes). Such a message still bears the subject that it was written to, and the server's
//! address for acknowledgements: so one that is on another subject than the verb's, that asks for no answer,
//! or that asks for it there, is not acted on.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_nats::service::ServiceExt;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use mesh_model::name::{NodeName, SeatName};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::account::Account;
use crate::client::{Bus, REQUEST_TIMEOUT, RequestError};
use crate::seat::Tenure;

/// How many questions one endpoint works on at a time.
const AT_ONCE: usize = 64;
/// The longest question, where an endpoint does not say otherwise, in bytes.
pub const MAX_QUESTION: usize = 64 * 1024;
/// The longest answer, in bytes: what the server takes, less room for headers.
pub const MAX_ANSWER: usize = 1024 * 1024 - 4096;
/// How long what is being answered has to finish when the service stops.
const STOP_DEADLINE: Duration = Duration::from_secs(5);

/// A question.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Who asks: the bus has checked it.
    pub by: Account,
    /// The JSON of the question.
    pub body: Bytes,
}

impl Ask {
    /// The question as what it should be; an empty body is an empty object.
    ///
    /// # Errors
    /// `bad-request`, to be answered as it is.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, VerbError> {
        let body: &[u8] = if self.body.is_empty() { b"{}" } else { &self.body };
        serde_json::from_slice(body)
            .map_err(|error| VerbError::new("bad-request", format!("the question cannot be read: {error}")))
    }

    /// The node that asks, where the verb is one of nodes.
    ///
    /// # Errors
    /// `bad-request`, where it is none.
    pub fn node(&self) -> Result<&NodeName, VerbError> {
        match &self.by {
            Account::Node(node) => Ok(node),
            other => Err(VerbError::new("bad-request", format!("`{other}` is no node"))),
        }
    }
}

/// Whose questions a verb answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Askers {
    /// Those of nodes.
    Nodes,
    /// Those of operators, and of seats.
    Operators,
    /// Those of whoever is invited to join.
    Invited,
}

impl Askers {
    fn include(self, by: &Account) -> bool {
        match by {
            Account::Node(_) => self == Self::Nodes,
            Account::Operator(_) | Account::Seat(_) => self == Self::Operators,
            Account::Module(_) | Account::Store(_) => false,
            Account::Invited(_) => self == Self::Invited,
        }
    }
}

/// What is answered instead, where a question is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerbError {
    /// Which kind of refusal, for programs.
    pub code: String,
    /// What is refused and why, for people.
    pub message: String,
    /// The way out, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
}

impl VerbError {
    /// One without a way out.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), help: String::new() }
    }

    /// With the way out.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }
}

/// A verb could not be offered.
#[derive(Debug, Error)]
#[error("cannot answer {subject} on the bus")]
pub struct ServeError {
    /// The subject, or the service's name.
    pub subject: String,
    /// Why not.
    #[source]
    pub source: async_nats::Error,
}

/// The verbs of one seat.
pub struct Service {
    held: Option<Tenure>,
    service: async_nats::service::Service,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

impl Service {
    /// Begins to answer `$SRV.PING`, `INFO` and `STATS`. The version is `1.2.3`.
    ///
    /// # Errors
    /// Where the bus cannot be subscribed to.
    pub async fn start(bus: &Bus, seat: &SeatName, version: &str, summary: &str) -> Result<Self, ServeError> {
        let service = bus.client().service_builder().description(summary).start(seat.as_str(), version).await;
        let service = service.map_err(|source| ServeError { subject: seat.to_string(), source })?;
        Ok(Self { held: None, service, tasks: TaskTracker::new(), stop: CancellationToken::new() })
    }

    /// The same for as long as the seat is held: whoever asks when it is not is told so.
    ///
    /// # Errors
    /// Where the bus cannot be subscribed to.
    pub async fn of_seat(
        tenure: &Tenure,
        seat: &SeatName,
        version: &str,
        summary: &str,
    ) -> Result<Self, ServeError> {
        let service = Self::start(tenure.bus(), seat, version, summary).await?;
        Ok(Self { held: Some(tenure.clone()), ..service })
    }

    /// Answers a verb from now on: one that ends in `.*` to nodes, which each name themselves there; one that ends in
    /// `.invited=*` to whoever is invited; any other to operators. All are granted by name, in [`crate::grants`].
    ///
    /// # Errors
    /// Where the bus cannot be subscribed to.
    pub async fn answer<F, R, A>(&self, subject: &str, longest: usize, handler: F) -> Result<(), ServeError>
    where
        F: Fn(Ask) -> R + Send + Sync + 'static,
        R: Future<Output = Result<A, VerbError>> + Send + 'static,
        A: Serialize + Send + 'static,
    {
        let (verb, askers) = match (subject.strip_suffix(".*"), subject.strip_suffix(".invited=*")) {
            (Some(verb), _) => (verb, Askers::Nodes),
            (_, Some(verb)) => (verb, Askers::Invited),
            _ => (subject, Askers::Operators),
        };
        let endpoint = self.service.endpoint_builder().name(verb.replace('.', "-"));
        let endpoint = endpoint.add(format!("{verb}.*")).await;
        let endpoint = endpoint.map_err(|source| ServeError { subject: subject.to_owned(), source })?;
        let desk =
            Arc::new(Desk { verb: verb.to_owned(), askers, longest, held: self.held.clone(), handler });
        let (tasks, stop) = (self.tasks.clone(), self.stop.clone());
        self.tasks.spawn(serve(endpoint, desk, tasks, stop));
        Ok(())
    }

    /// Takes no more questions, and finishes those that it has, with a deadline.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(STOP_DEADLINE, self.tasks.wait()).await.is_err() {
            tracing::warn!("questions were left unanswered");
        }
        if let Err(error) = self.service.stop().await {
            tracing::debug!(%error, "the service had stopped already");
        }
    }
}

/// One verb, and who answers it.
struct Desk<F> {
    verb: String,
    askers: Askers,
    longest: usize,
    held: Option<Tenure>,
    handler: F,
}

async fn serve<F, R, A>(
    mut endpoint: async_nats::service::endpoint::Endpoint,
    desk: Arc<Desk<F>>,
    tasks: TaskTracker,
    stop: CancellationToken,
) where
    F: Fn(Ask) -> R + Send + Sync + 'static,
    R: Future<Output = Result<A, VerbError>> + Send + 'static,
    A: Serialize + Send + 'static,
{
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let request = tokio::select! {
            request = endpoint.next() => request,
            () = stop.cancelled() => None,
        };
        let Some(request) = request else { return };
        if !is_question(&request.message, &desk.verb) {
            let subject = &request.message.subject;
            tracing::warn!(verb = desk.verb, %subject, "what is no question is not acted on");
            continue;
        }
        let place = Arc::clone(&places).acquire_owned().await.expect("it is never closed");
        let desk = Arc::clone(&desk);
        tasks.spawn(async move {
            let answer = desk.answer(&request.message).await;
            if let Err(error) = request.respond(Ok(answer)).await {
                tracing::warn!(%error, subject = %request.message.subject, "an answer could not be sent");
            }
            drop(place);
        });
    }
}

/// Whether somebody asked this verb, and waits for the answer.
fn is_question(message: &async_nats::Message, verb: &str) -> bool {
    asker(message, verb).is_some() && message.reply.as_ref().is_some_and(|reply| !reply.starts_with('$'))
}

/// The last word of a verb's subject.
fn asker<'a>(message: &'a async_nats::Message, verb: &str) -> Option<&'a str> {
    message.subject.strip_prefix(verb)?.strip_prefix('.')
}

impl<F, R, A> Desk<F>
where
    F: Fn(Ask) -> R,
    R: Future<Output = Result<A, VerbError>>,
    A: Serialize,
{
    async fn answer(&self, message: &async_nats::Message) -> Bytes {
        let result = match self.question(message) {
            Ok(ask) => AssertUnwindSafe(async { (self.handler)(ask).await })
                .catch_unwind()
                .await
                .unwrap_or_else(|_| {
                    Err(VerbError::new(
                        "internal",
                        "answering failed: this is a fault of mesh; its log says more",
                    ))
                }),
            Err(refused) => Err(refused),
        };
        let text = result.and_then(|answer| {
            serde_json::to_vec(&answer)
                .map_err(|error| VerbError::new("internal", format!("the answer cannot be written: {error}")))
        });
        match text {
            Ok(text) if text.len() <= MAX_ANSWER => text.into(),
            Ok(text) => refusal(&VerbError::new(
                "too-large",
                format!("the answer has {} bytes, more than {MAX_ANSWER}", text.len()),
            )),
            Err(refused) => refusal(&refused),
        }
    }

    fn question(&self, message: &async_nats::Message) -> Result<Ask, VerbError> {
        if self.held.as_ref().is_some_and(|held| !held.is_held()) {
            let message = format!("whoever was asked for {} does not hold its seat at the moment", self.verb);
            return Err(VerbError::new("seat-not-held", message).help("ask again: whoever holds it answers"));
        }
        let (size, longest) = (message.payload.len(), self.longest);
        if size > longest {
            return Err(VerbError::new(
                "too-large",
                format!("the question has {size} bytes, more than {longest}"),
            ));
        }
        let by = asker(message, &self.verb).and_then(|name| name.parse().ok());
        match by {
            Some(by) if self.askers.include(&by) => Ok(Ask { by, body: message.payload.clone() }),
            _ => {
                let message = format!("{} is answered to nobody of that name", message.subject);
                Err(VerbError::new("bad-request", message))
            }
        }
    }
}

fn refusal(error: &VerbError) -> Bytes {
    json!({ "error": error }).to_string().into()
}

/// Why a question was not answered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AskError {
    /// Nobody answers: the seat is not held, or the account may not ask, or the bus is away.
    #[error("cannot reach {verb}")]
    Unreachable {
        /// What was asked.
        verb: String,
        /// Why not.
        #[source]
        source: RequestError,
    },
    /// The answer is a refusal.
    #[error("{verb} refused: {}", refused.message)]
    Refused {
        /// What was asked.
        verb: String,
        /// The refusal.
        refused: VerbError,
    },
    /// The answer is not what it should be.
    #[error("the answer of {verb} cannot be read: {why}")]
    Unreadable {
        /// What was asked.
        verb: String,
        /// Why not.
        why: String,
    },
}

/// Asks a verb, and awaits the answer for two seconds.
///
/// # Errors
/// Where nobody answers, the question is refused, or the answer cannot be read.
pub async fn ask<T: DeserializeOwned>(bus: &Bus, verb: &str, body: &impl Serialize) -> Result<T, AskError> {
    ask_within(bus, REQUEST_TIMEOUT, verb, body).await
}

/// Asks a verb whose answer may take longer.
///
/// # Errors
/// As [`ask`].
pub async fn ask_within<T: DeserializeOwned>(
    bus: &Bus,
    patience: Duration,
    verb: &str,
    body: &impl Serialize,
) -> Result<T, AskError> {
    let unreadable =
        |why: serde_json::Error| AskError::Unreadable { verb: verb.to_owned(), why: why.to_string() };
    let body = serde_json::to_vec(body).map_err(unreadable)?;
    let subject = match bus.account() {
        // Nobody adds it for a user of `BUS`, or for who is not in yet.
        account @ (Account::Seat(_) | Account::Invited(_)) => format!("{verb}.{account}"),
        Account::Node(_) | Account::Module(_) | Account::Operator(_) | Account::Store(_) => verb.to_owned(),
    };
    let answer = bus.request_within(patience, subject, None, body.into()).await;
    let answer = answer.map_err(|source| AskError::Unreachable { verb: verb.to_owned(), source })?;
    if let Ok(Refusal { error: refused }) = serde_json::from_slice(&answer.payload) {
        return Err(AskError::Refused { verb: verb.to_owned(), refused });
    }
    serde_json::from_slice(&answer.payload).map_err(unreadable)
}

#[derive(Deserialize)]
struct Refusal {
    error: VerbError,
}

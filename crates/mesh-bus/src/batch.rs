//! Several messages that a stream takes as one: all of them or none, with whatever each expects.
//!
//! By the headers of NATS's atomic batches (server 2.12 and later). The server keeps the messages until the last arrives, so
//! whoever may begin a batch may take up its room: streams that nodes write take none.

use async_nats::{HeaderMap, Message};
use bytes::Bytes;

use crate::client::{Bus, RequestError};

/// One message of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) subject: String,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Bytes,
}

/// Publishes up to a thousand messages, which is what the server takes, as one; returns what the server answers to the last.
pub(crate) async fn publish(bus: &Bus, parts: Vec<Part>) -> Result<Message, RequestError> {
    let (id, count) = (bus.client().new_inbox(), parts.len());
    for (at, part) in parts.into_iter().enumerate() {
        let Part { subject, mut headers, payload } = part;
        headers.insert("Nats-Batch-Id", id.as_str());
        headers.insert("Nats-Batch-Sequence", (at + 1).to_string().as_str());
        if at + 1 == count {
            headers.insert("Nats-Batch-Commit", "1");
            return bus.request(subject, Some(headers), payload).await;
        }
        let sent = bus.client().publish_with_headers(subject.clone(), headers, payload).await;
        sent.map_err(|error| RequestError::Closed { subject, why: error.to_string() })?;
    }
    Err(RequestError::Closed { subject: String::new(), why: "a batch has a message at least".to_owned() })
}

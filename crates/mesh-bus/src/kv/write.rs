//! A seat's write: it happens while the seat's fence stands, and not after.
//!
//! A message can expect one thing. Where a key has to be at a revision too, two are sent as one: the first expects the fence, and is
//! of no other use.

use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use tokio::time::Instant;

use super::{Expected, Kv, KvError};
use crate::batch::{self, Part};
use crate::client::{self, REQUEST_TIMEOUT};
use crate::seat::{Fence, FenceError};

/// The pause before a write is sent again that another of ours was in the way of.
const PAUSE: Duration = Duration::from_millis(3);

/// What is written.
pub(super) struct Write<'a> {
    pub(super) doing: &'static str,
    pub(super) key: &'a str,
    /// With what is expected of the key, where anything is.
    pub(super) headers: HeaderMap,
    pub(super) value: Bytes,
    pub(super) expected: Expected,
}

/// Writes behind a fence; returns the revision.
pub(super) async fn behind(fence: &Fence, kv: &Kv, write: Write<'_>) -> Result<u64, KvError> {
    let Write { doing, key, .. } = write;
    let fenced = || KvError::Fenced { doing, bucket: kv.bucket.to_string(), key: key.to_owned() };
    let lanes = fence.lanes(&kv.bucket).await.map_err(|error| match error {
        FenceError::Later { .. } => fenced(),
        FenceError::Bucket { source, .. } => kv.asked_in_vain(doing, key, source),
    })?;
    let until = Instant::now() + REQUEST_TIMEOUT;
    loop {
        let lane = lanes.take().await;
        let mut headers = write.headers.clone();
        let part = |headers| Part { subject: kv.bucket.subject(key), headers, payload: write.value.clone() };
        let asked = match write.expected {
            Expected::Anything => {
                lane.guard(&mut headers);
                let Part { subject, headers, payload } = part(headers);
                kv.bus.request(subject, Some(headers), payload).await
            }
            Expected::Revision(_) => {
                let mut first = HeaderMap::new();
                lane.guard(&mut first);
                let first = Part { subject: kv.bucket.fence("with"), headers: first, payload: Bytes::new() };
                batch::publish(&kv.bus, vec![first, part(headers)]).await
            }
        };
        let answer = asked.map_err(|source| kv.unanswered(doing, key, source))?;
        let refusal = match client::written(&answer.payload) {
            Ok(revision) => return Ok(revision),
            Err(refusal) => refusal,
        };
        if refusal.may_pass() && Instant::now() < until {
            // An earlier write by this lane that was not acknowledged is still on its way, or another's fence.
            drop(lane);
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        if !refusal.is_wrong_sequence() {
            return Err(kv.refused(doing, key, refusal.why));
        }
        let stands = fence.stands(&kv.bucket).await.map_err(|error| kv.asked_in_vain(doing, key, error))?;
        return Err(match (stands, write.expected) {
            (false, _) => fenced(),
            (true, Expected::Revision(_)) => kv.conflict(key),
            (true, Expected::Anything) => kv.refused(doing, key, refusal.why),
        });
    }
}

//! What buckets there are, what keys one has, and how a key goes without leaving a mark. It opens whole buckets, so it is for
//! users of `BUS` alone, which nodes and operators are not.

use std::collections::BTreeMap;

use bytes::Bytes;
use data_encoding::BASE64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{Bucket, BucketError, refused};
use crate::client::{Bus, api_error};
use crate::grants;

/// The buckets of providers that there are, whoever still provides.
///
/// # Errors
/// Where the server cannot be asked, or its answer cannot be read.
pub async fn bound(bus: &Bus) -> Result<Vec<Bucket>, BucketError> {
    let (mut buckets, mut seen) = (Vec::new(), 0);
    loop {
        let page: Names = ask(bus, "STREAM.NAMES", "*_bound", &json!({ "offset": seen })).await?;
        let bound = page.streams.iter().filter_map(|stream| stream.strip_prefix("KV_"));
        buckets.extend(bound.filter(|name| name.ends_with("_bound")).filter_map(Bucket::named));
        seen += page.streams.len();
        if page.streams.is_empty() || seen >= page.total {
            return Ok(buckets);
        }
    }
}

/// The keys of a bucket, those that were deleted and have left a mark too, without their values.
///
/// # Errors
/// Where the server cannot be asked, or its answer cannot be read.
pub async fn keys(bus: &Bus, bucket: &Bucket) -> Result<Vec<String>, BucketError> {
    let (call, prefix) = (format!("STREAM.INFO.{}", bucket.stream()), bucket.subject(""));
    let (mut keys, mut seen) = (Vec::new(), 0);
    loop {
        let body = json!({ "subjects_filter": bucket.subject(">"), "offset": seen });
        let page: Info = ask(bus, &call, bucket.name(), &body).await?;
        let subjects = page.state.subjects;
        seen += subjects.len();
        let done = subjects.is_empty() || seen >= page.total;
        keys.extend(subjects.into_keys().filter_map(|s| Some(s.strip_prefix(&prefix)?.to_owned())));
        if done {
            return Ok(keys);
        }
    }
}

/// Takes the mark away that a key left which was deleted, at this revision: what was written since stays.
///
/// # Errors
/// Where the server cannot be asked, or refuses.
pub async fn purge(bus: &Bus, bucket: &Bucket, key: &str, deleted: u64) -> Result<(), BucketError> {
    let call = format!("STREAM.PURGE.{}", bucket.stream());
    // A purge asks nobody whether the seat is still ours, so it takes nothing but what is behind the mark.
    let what = json!({ "filter": bucket.subject(key), "seq": deleted.saturating_add(1) });
    ask::<Value>(bus, &call, bucket.name(), &what).await.map(drop)
}

/// The newest message of a stream on a subject.
pub(crate) struct Latest {
    pub(crate) sequence: u64,
    pub(crate) value: Bytes,
    pub(crate) deletes: bool,
}

/// The newest message on a subject, as the leader of the stream has it: other than a direct get, which any replica answers,
/// it is not behind what was acknowledged.
pub(crate) async fn latest(bus: &Bus, bucket: &Bucket, subject: &str) -> Result<Option<Latest>, BucketError> {
    let body = json!({ "last_by_subj": subject }).to_string();
    let answer = bus.request(grants::latest_subject(bucket), None, body.into()).await;
    let answer = answer.map_err(|source| BucketError::Ask { bucket: bucket.to_string(), source })?;
    match api_error(&answer.payload) {
        Some((NO_MESSAGE, _)) => return Ok(None),
        Some((_, why)) => return Err(refused(bucket, why)),
        None => {}
    }
    let unreadable =
        |why: &dyn std::fmt::Display| refused(bucket, format!("an answer that cannot be read: {why}"));
    let got: Got = serde_json::from_slice(&answer.payload).map_err(|error| unreadable(&error))?;
    let decode = |text: &str| BASE64.decode(text.as_bytes()).map_err(|error| unreadable(&error));
    let headers = decode(&got.message.hdrs)?;
    let headers = String::from_utf8_lossy(&headers);
    let deletes = ["KV-Operation: DEL", "KV-Operation: PURGE", "Nats-Marker-Reason:"];
    Ok(Some(Latest {
        sequence: got.message.seq,
        value: decode(&got.message.data)?.into(),
        deletes: headers.lines().any(|line| deletes.iter().any(|mark| line.starts_with(mark))),
    }))
}

const NO_MESSAGE: u64 = 10037;

#[derive(Deserialize)]
struct Got {
    message: GotMessage,
}

#[derive(Deserialize)]
struct GotMessage {
    seq: u64,
    #[serde(default)]
    hdrs: String,
    #[serde(default)]
    data: String,
}

/// A page of the names of streams.
#[derive(Deserialize)]
struct Names {
    total: usize,
    #[serde(default, deserialize_with = "nothing_for_null")]
    streams: Vec<String>,
}

/// A page of the subjects of a stream.
#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    total: usize,
    state: State,
}

#[derive(Deserialize)]
struct State {
    #[serde(default, deserialize_with = "nothing_for_null")]
    subjects: BTreeMap<String, u64>,
}

fn nothing_for_null<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

async fn ask<T: DeserializeOwned>(
    bus: &Bus,
    call: &str,
    bucket: &str,
    body: &Value,
) -> Result<T, BucketError> {
    let refused = |why: String| BucketError::Refused { bucket: bucket.to_owned(), why };
    let answer = bus.request(format!("{}.{call}", bus.api()), None, body.to_string().into()).await;
    let answer = answer.map_err(|source| BucketError::Ask { bucket: bucket.to_owned(), source })?;
    match api_error(&answer.payload) {
        Some((_, why)) => Err(refused(why)),
        None => serde_json::from_slice(&answer.payload).map_err(|error| refused(error.to_string())),
    }
}

//! What buckets there are, what keys one has, and how a key goes without leaving a mark. It opens whole buckets, so it is for
//! users of `BUS` alone, which nodes and operators are not.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{Bucket, BucketError};
use crate::client::{Bus, api_error};

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

/// Takes a key and its mark away for good.
///
/// # Errors
/// Where the server cannot be asked, or refuses.
pub async fn purge(bus: &Bus, bucket: &Bucket, key: &str) -> Result<(), BucketError> {
    let call = format!("STREAM.PURGE.{}", bucket.stream());
    ask::<Value>(bus, &call, bucket.name(), &json!({ "filter": bucket.subject(key) })).await.map(drop)
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

//! The store by S3 itself: buckets, and whether a key opens one.
//!
//! Each request is signed by itself, in its URL, for a few seconds.

use std::time::Duration;

use mesh_provider::Secret;
use reqwest::{Client, Response, StatusCode, Url};
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};

use super::{Entry, WorldError};
use crate::name::{AccessKey, BucketName};

/// How long a signature is good.
const SIGNED_FOR: Duration = Duration::from_secs(30);
/// How long one request may take.
const WITHIN: Duration = Duration::from_secs(10);

/// The store's gate, and the administrator's key to it.
pub(super) struct Gate {
    client: Client,
    url: Url,
    region: String,
    admin: Credentials,
}

impl Gate {
    pub(super) fn new(url: &str, region: &str, admin: Credentials) -> Result<Self, WorldError> {
        let parsed = Url::parse(url).map_err(|_| WorldError::Url { url: url.to_owned() })?;
        let client = Client::builder().timeout(WITHIN).no_proxy().redirect(reqwest::redirect::Policy::none());
        let client =
            client.build().map_err(|source| WorldError::Reach { doing: "make an HTTP client", source })?;
        Ok(Self { client, url: parsed, region: region.to_owned(), admin })
    }

    fn bucket(&self, name: &BucketName) -> Bucket {
        let (url, name, region) = (self.url.clone(), name.to_string(), self.region.clone());
        Bucket::new(url, UrlStyle::Path, name, region).expect("the URL has a host, and paths fit it")
    }

    /// Whether there is such a bucket, whoever it belongs to.
    pub(super) async fn has(&self, name: &BucketName) -> Result<bool, WorldError> {
        let doing = "look for a bucket";
        let bucket = self.bucket(name);
        let url = bucket.head_bucket(Some(&self.admin)).sign(SIGNED_FOR);
        let answer = sent(doing, self.client.head(url)).await?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(false),
            status if status.is_success() => Ok(true),
            _ => Err(said(doing, answer).await),
        }
    }

    pub(super) async fn make(&self, name: &BucketName) -> Result<(), WorldError> {
        let doing = "make a bucket";
        let bucket = self.bucket(name);
        let url = bucket.create_bucket(&self.admin).sign(SIGNED_FOR);
        let answer = sent(doing, self.client.put(url)).await?;
        if answer.status().is_success() { Ok(()) } else { Err(said(doing, answer).await) }
    }

    /// Lists the bucket as a consumer would.
    pub(super) async fn enter(
        &self,
        key: &AccessKey,
        secret: &Secret,
        name: &BucketName,
    ) -> Result<Entry, WorldError> {
        let doing = "try a key";
        let text = secret.expose_text().expect("a secret that is no text is no key");
        let credentials = Credentials::new(key.as_str(), text);
        let bucket = self.bucket(name);
        let mut list = bucket.list_objects_v2(Some(&credentials));
        list.with_max_keys(1);
        let answer = sent(doing, self.client.get(list.sign(SIGNED_FOR))).await?;
        if answer.status().is_success() {
            return Ok(Entry::Open);
        }
        if answer.status().is_server_error() {
            return Err(said(doing, answer).await);
        }
        Ok(Entry::Refused(words(answer).await))
    }
}

/// The URL bears the signature: no error repeats it.
async fn sent(doing: &'static str, request: reqwest::RequestBuilder) -> Result<Response, WorldError> {
    request.send().await.map_err(|source| WorldError::Reach { doing, source: source.without_url() })
}

async fn said(doing: &'static str, answer: Response) -> WorldError {
    WorldError::Said { doing, said: words(answer).await }
}

/// The code that S3 gives in its answer, or the status.
async fn words(answer: Response) -> String {
    let status = answer.status();
    let text = answer.text().await.unwrap_or_default();
    let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    code.map_or_else(|| status.to_string(), |(code, _)| code.chars().take(80).collect())
}

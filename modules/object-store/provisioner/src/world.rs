//! SeaweedFS as the rest of this program sees it: a few things that can be asked and done.

mod iam;
mod s3;
mod seaweed;

use std::path::PathBuf;
use std::time::Duration;

use mesh_provider::Secret;
use thiserror::Error;

use crate::name::{AccessKey, BucketName, UserName};
use crate::plan::{Observed, User};

pub(crate) use seaweed::{Address, Seaweed};

/// Whether a key opens a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Open,
    /// What the store said.
    Refused(String),
}

/// One store.
pub(crate) trait World {
    /// All users and marks of ours, and which of these buckets are there.
    async fn observe<'b>(
        &self,
        buckets: impl Iterator<Item = &'b BucketName>,
    ) -> Result<Observed, WorldError>;

    /// Takes everything from a user: none of its keys is good with the next request.
    async fn drop_user(&self, user: &UserName) -> Result<(), WorldError>;

    /// Notes whose a bucket is.
    async fn mark(&self, mark: &UserName) -> Result<(), WorldError>;

    /// Makes a bucket.
    async fn make_bucket(&self, bucket: &BucketName) -> Result<(), WorldError>;

    /// Makes a user who has exactly this, or gives exactly this to one who is there.
    async fn put_user(&self, name: &UserName, user: &User, is_new: bool) -> Result<(), WorldError>;

    /// Tries a key as a consumer would.
    async fn enter(&self, key: &AccessKey, secret: &Secret, bucket: &BucketName)
    -> Result<Entry, WorldError>;
}

/// Why something could not be done.
#[derive(Debug, Error)]
pub(crate) enum WorldError {
    /// Without it, nobody can be served.
    #[error("could not read `{path}`")]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("`{path}` is not one line of text")]
    NotText { path: PathBuf },
    #[error("`{url}` is no URL of a store")]
    Url { url: String },
    #[error("could not connect to the filer at {address}")]
    Connect {
        address: String,
        #[source]
        source: tonic::transport::Error,
    },
    #[error("could not {doing}: the filer says `{}` ({:?})", status.message(), status.code())]
    Filer { doing: &'static str, status: Box<tonic::Status> },
    #[error("could not {doing}")]
    Reach {
        doing: &'static str,
        #[source]
        source: reqwest::Error,
    },
    #[error("could not {doing}: the store says {said}")]
    Said { doing: &'static str, said: String },
    #[error("could not {doing} within {within:?}")]
    Late { doing: &'static str, within: Duration },
}

impl WorldError {
    /// Whether it is the store as a whole that cannot be worked with, not this one thing.
    pub(crate) fn is_gone(&self) -> bool {
        use tonic::Code;
        match self {
            Self::File { .. } | Self::NotText { .. } | Self::Url { .. } => true,
            Self::Connect { .. } | Self::Reach { .. } | Self::Late { .. } => true,
            Self::Filer { status, .. } => {
                matches!(
                    status.code(),
                    Code::Unavailable | Code::Unauthenticated | Code::Cancelled | Code::Unknown
                )
            }
            Self::Said { .. } => false,
        }
    }
}

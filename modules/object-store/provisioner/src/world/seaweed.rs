//! The real SeaweedFS: who may come in by the filer's gRPC, buckets by S3.

use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use futures_util::{StreamExt, TryStreamExt, stream};
use hmac::{Hmac, Mac};
use mesh_provider::Secret;
use rusty_s3::Credentials;
use serde_json::json;
use sha2::Sha256;
use time::OffsetDateTime;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity as Certified};
use zeroize::Zeroizing;

use super::iam::{self, Configuration, Create, Delete, Identity, Nothing, Update};
use super::s3::Gate;
use super::{Entry, World, WorldError};
use crate::home;
use crate::name::{AccessKey, BucketName, UserName};
use crate::plan::{Observed, User};

/// How long one question to the filer may take.
const WITHIN: Duration = Duration::from_secs(10);
/// How long a token for it is good.
const TOKEN_FOR: Duration = Duration::from_secs(60);
/// How many buckets are looked for at once.
const LOOKS: usize = 16;
/// How SeaweedFS calls a key that may be used.
const ACTIVE: &str = "Active";

/// Where the store is, and by what it knows its administrator.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) s3: String,
    pub(crate) region: String,
    pub(crate) filer: String,
    pub(crate) admin: String,
    pub(crate) admin_secret_file: PathBuf,
    pub(crate) filer_key_file: PathBuf,
    pub(crate) home: PathBuf,
}

/// A store that is reached.
pub(crate) struct Seaweed {
    channel: Channel,
    filer_key: Zeroizing<String>,
    gate: Gate,
}

impl Seaweed {
    /// Reads the keys, and reaches the filer.
    pub(crate) async fn connect(address: &Address) -> Result<Self, WorldError> {
        let admin = line(&address.admin_secret_file)?;
        let admin = Credentials::new(address.admin.clone(), admin.as_str());
        let gate = Gate::new(&address.s3, &address.region, admin)?;
        let filer_key = line(&address.filer_key_file)?;
        Ok(Self { channel: channel(address).await?, filer_key, gate })
    }

    async fn ask<Q, A>(&self, doing: &'static str, method: &'static str, question: Q) -> Result<A, WorldError>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        let asked = iam::ask(self.channel.clone(), self.bearer(), method, question);
        match tokio::time::timeout(WITHIN, asked).await {
            Err(_) => Err(WorldError::Late { doing, within: WITHIN }),
            Ok(Err(status)) => Err(WorldError::Filer { doing, status: Box::new(status) }),
            Ok(Ok(answer)) => Ok(answer),
        }
    }

    /// A token that the filer believes: HS256, as RFC 7519 has it, with nothing in it but its end.
    fn bearer(&self) -> MetadataValue<Ascii> {
        let until = (OffsetDateTime::now_utc() + TOKEN_FOR).unix_timestamp();
        let part = |value: serde_json::Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let signed =
            format!("{}.{}", part(json!({"alg": "HS256", "typ": "JWT"})), part(json!({"exp": until})));
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.filer_key.as_bytes()).expect("a key may have any length");
        mac.update(signed.as_bytes());
        let token = format!("Bearer {signed}.{}", BASE64URL_NOPAD.encode(&mac.finalize().into_bytes()));
        let mut value: MetadataValue<Ascii> = token.parse().expect("it is ASCII");
        value.set_sensitive(true);
        value
    }
}

impl World for Seaweed {
    async fn observe<'b>(
        &self,
        buckets: impl Iterator<Item = &'b BucketName>,
    ) -> Result<Observed, WorldError> {
        let all: Configuration = self.ask("read who may come in", "GetConfiguration", Nothing {}).await?;
        let identities = all.configuration.unwrap_or_default().identities;
        let ours = |identity: Identity| Some((UserName::ours(&identity.name)?, user(identity)));
        let there = stream::iter(buckets)
            .map(async |bucket| Ok::<_, WorldError>(self.gate.has(bucket).await?.then(|| bucket.clone())));
        let there: Vec<Option<BucketName>> = there.buffer_unordered(LOOKS).try_collect().await?;
        Ok(Observed {
            users: identities.into_iter().filter_map(ours).collect(),
            buckets: there.into_iter().flatten().collect(),
        })
    }

    async fn drop_user(&self, user: &UserName) -> Result<(), WorldError> {
        let question = Delete { name: user.to_string() };
        self.ask::<_, Nothing>("take a user's keys back", "DeleteUser", question).await.map(drop)
    }

    async fn mark(&self, mark: &UserName) -> Result<(), WorldError> {
        self.put_user(mark, &User::default(), true).await
    }

    async fn make_bucket(&self, bucket: &BucketName) -> Result<(), WorldError> {
        self.gate.make(bucket).await
    }

    async fn put_user(&self, name: &UserName, user: &User, is_new: bool) -> Result<(), WorldError> {
        let identity = Some(identity(name, user));
        if is_new {
            return self.ask::<_, Nothing>("make a user", "CreateUser", Create { identity }).await.map(drop);
        }
        let question = Update { name: name.to_string(), identity };
        self.ask::<_, Nothing>("put a user right", "UpdateUser", question).await.map(drop)
    }

    async fn enter(
        &self,
        key: &AccessKey,
        secret: &Secret,
        bucket: &BucketName,
    ) -> Result<Entry, WorldError> {
        self.gate.enter(key, secret, bucket).await
    }
}

fn user(identity: Identity) -> User {
    let altered = identity.disabled
        || !identity.policies.is_empty()
        || !identity.service_accounts.is_empty()
        || identity.keys.iter().any(|key| !key.status.is_empty() && key.status != ACTIVE);
    let key = |key: iam::Key| (AccessKey::observed(key.access), Secret::new(key.secret.into_bytes()));
    User {
        keys: identity.keys.into_iter().map(key).collect(),
        actions: identity.actions.into_iter().collect(),
        altered,
    }
}

fn identity(name: &UserName, user: &User) -> Identity {
    let key = |(access, secret): (&AccessKey, &Secret)| iam::Key {
        access: access.to_string(),
        secret: secret.expose_text().expect("a secret that is no text is no key").to_owned(),
        status: ACTIVE.to_owned(),
    };
    Identity {
        name: name.to_string(),
        keys: user.keys.iter().map(key).collect(),
        actions: user.actions.iter().cloned().collect(),
        disabled: false,
        service_accounts: Vec::new(),
        policies: Vec::new(),
    }
}

/// The filer's gRPC: both ends show a certificate that `prepare` made.
async fn channel(address: &Address) -> Result<Channel, WorldError> {
    let read = |name: &str| {
        let path = address.home.join(name);
        std::fs::read(&path).map(Zeroizing::new).map_err(|source| WorldError::File { path, source })
    };
    let (ca, certificate, key) = (read(home::CA)?, read(home::CERTIFICATE)?, read(home::KEY)?);
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&*ca))
        .identity(Certified::from_pem(&*certificate, &*key))
        .domain_name(home::NAME);
    let failed = |source| WorldError::Connect { address: address.filer.clone(), source };
    let endpoint = Endpoint::from_shared(format!("https://{}", address.filer)).map_err(failed)?;
    let endpoint = endpoint.tls_config(tls).map_err(failed)?.connect_timeout(WITHIN);
    endpoint.connect().await.map_err(failed)
}

/// A file of one line.
fn line(path: &Path) -> Result<Zeroizing<String>, WorldError> {
    let bytes = std::fs::read(path).map(Zeroizing::new);
    let bytes = bytes.map_err(|source| WorldError::File { path: path.to_owned(), source })?;
    let text = std::str::from_utf8(&bytes).map(str::trim).unwrap_or_default();
    match text {
        "" => Err(WorldError::NotText { path: path.to_owned() }),
        text => Ok(Zeroizing::new(text.to_owned())),
    }
}

//! What the consumers file asks of the store, in the store's own nouns.
//!
//! Each consumer stands on its own: what is wrong with one is that one's failure and nobody else's.

use std::collections::BTreeMap;

use mesh_model::name::ModuleName;
use mesh_provider::{Consumer, ConsumerId, Consumers, Credential, Secret};

use crate::name::{AccessKey, BucketName, UserName};

/// Everything that is wanted.
#[derive(Debug)]
pub(crate) struct Desired {
    /// Each bucket once, however many consumers share it, and whose it is.
    pub(crate) buckets: BTreeMap<BucketName, ModuleName>,
    /// Each consumer of the file.
    pub(crate) consumers: Vec<Wanted>,
}

/// One consumer.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) id: ConsumerId,
    pub(crate) revision: String,
    /// What it is to have, or why it cannot have it.
    pub(crate) access: Result<Access, String>,
}

/// A bucket, and the keys to it.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) bucket: BucketName,
    pub(crate) user: UserName,
    /// The newest last; never empty.
    pub(crate) keys: Vec<Key>,
}

/// One credential as a key.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) credential: String,
    pub(crate) access: AccessKey,
    /// Its secret half, or why it has none that would do.
    pub(crate) secret: Result<Secret, String>,
}

impl Desired {
    pub(crate) fn of(wanted: &Consumers) -> Self {
        let mut desired = Self { buckets: BTreeMap::new(), consumers: Vec::new() };
        for consumer in &wanted.consumers {
            let access = desired.access(consumer);
            let (id, revision) = (consumer.id.clone(), consumer.revision.clone());
            desired.consumers.push(Wanted { id, revision, access });
        }
        desired
    }

    fn access(&mut self, consumer: &Consumer) -> Result<Access, String> {
        let name = consumer.contribution.get("name").ok_or("its contribution has no `name`")?;
        let name = name.as_str().ok_or("the `name` it contributes is not text")?;
        let bucket = BucketName::contributed(name)?;
        if consumer.credentials.is_empty() {
            return Err("no credential was delivered for it".to_owned());
        }
        let module = &consumer.id.module;
        let owner = self.buckets.entry(bucket.clone()).or_insert_with(|| module.clone());
        if owner != module {
            return Err(format!("the name `{bucket}` is taken by module `{owner}`"));
        }
        let keys = consumer.credentials.iter().map(|credential| key(&consumer.id, credential)).collect();
        Ok(Access { bucket, user: UserName::of(&consumer.id), keys })
    }

    /// Each consumer that can be served, with what it is to have.
    pub(crate) fn served(&self) -> impl Iterator<Item = &Access> {
        self.consumers.iter().filter_map(|wanted| wanted.access.as_ref().ok())
    }
}

fn key(consumer: &ConsumerId, credential: &Credential) -> Key {
    let access = AccessKey::of(consumer, &credential.id);
    let secret = match credential.secrets.get("secret_key") {
        None => Err("it has no field `secret_key`".to_owned()),
        Some(secret) if secret.is_empty() => Err("its secret key is empty".to_owned()),
        Some(secret)
            if secret.expose_text().is_none_or(|text| !text.bytes().all(|b| b.is_ascii_graphic())) =>
        {
            Err("its secret key is not printable".to_owned())
        }
        Some(secret) => Ok(secret.clone()),
    };
    Key { credential: credential.id.clone(), access, secret }
}

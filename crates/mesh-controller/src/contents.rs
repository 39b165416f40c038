//! The contents of files, by digest, in parts: the bucket `mesh-controller_files`.
//!
//! Start at [`Contents::take_part`], by which operators hand them over, and [`Contents::read`]. A content counts as there
//! once all of it was read back and its digest is right; until then it is missing, whatever parts there are. So a hand-over that broke off is
//! begun again, and nothing unverified is ever planned with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use mesh_bus::kv::KvError;
use mesh_bus::seat::Tenure;
use mesh_bus::{Bucket, Kv};
use mesh_model::digest::Digest;
use mesh_model::wire::{Listed, PART};
use thiserror::Error;

/// How many parts a content may have: a gibibyte.
const MAX_PARTS: u64 = 4096;

/// Why a content could not be kept or read.
#[derive(Debug, Error)]
pub enum ContentsError {
    /// The bus refused or did not answer.
    #[error(transparent)]
    Kv(#[from] KvError),
    /// A part that cannot be one.
    #[error(
        "part {part} of {parts} with {size} bytes is no part of a content: each has {PART} bytes but for the last"
    )]
    Part {
        /// Which part.
        part: u64,
        /// Of how many.
        parts: u64,
        /// How many bytes it has.
        size: usize,
    },
    /// What was handed over is not what it was said to be.
    #[error("what was handed over as {digest} says something else")]
    Mismatch {
        /// The digest that it was to have.
        digest: Digest,
    },
}

#[derive(Debug, Default)]
struct Known {
    /// Verified, with their size.
    whole: BTreeMap<Digest, u64>,
    /// The parts that were handed over to this process.
    partial: BTreeMap<Digest, BTreeSet<u64>>,
    /// What is read again and again: the texts of the plan in effect.
    texts: BTreeMap<Digest, Bytes>,
}

/// The contents of files.
#[derive(Debug)]
pub struct Contents {
    kv: Kv,
    known: Mutex<Known>,
}

impl Contents {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(tenure: &Tenure) -> Self {
        Self { kv: tenure.kv(Bucket::files()), known: Mutex::default() }
    }

    /// Which of these are not there, each once.
    ///
    /// # Errors
    /// Where the bus refuses or does not answer.
    pub async fn missing<'a>(
        &self,
        listed: impl IntoIterator<Item = &'a Listed>,
    ) -> Result<BTreeSet<Digest>, ContentsError> {
        let mut missing = BTreeSet::new();
        for listed in listed {
            if !missing.contains(&listed.digest) && !self.is_whole(listed).await? {
                missing.insert(listed.digest.clone());
            }
        }
        Ok(missing)
    }

    async fn is_whole(&self, listed: &Listed) -> Result<bool, ContentsError> {
        let known = self.known().whole.get(&listed.digest).copied();
        match known {
            Some(size) => Ok(size == listed.size),
            None => self.verify(listed).await,
        }
    }

    /// Reads every part, and remembers the content where it is what it should be.
    async fn verify(&self, listed: &Listed) -> Result<bool, ContentsError> {
        let (mut hasher, mut size) = (blake3::Hasher::new(), 0);
        for part in 0..listed.parts() {
            let Some(bytes) = self.part(&listed.digest, part).await? else { return Ok(false) };
            hasher.update(&bytes);
            size += bytes.len() as u64;
        }
        let whole = hasher.finalize().to_hex().as_str() == listed.digest.as_str() && size == listed.size;
        if whole {
            self.known().whole.insert(listed.digest.clone(), size);
        }
        Ok(whole)
    }

    /// Takes a part; returns whether the content is whole now.
    ///
    /// # Errors
    /// Where it cannot be a part, the whole is not what it should be, or the bus refuses or does not answer.
    pub async fn take_part(
        &self,
        digest: &Digest,
        part: u64,
        parts: u64,
        data: Bytes,
    ) -> Result<bool, ContentsError> {
        check(part, parts, data.len())?;
        let mismatch = || ContentsError::Mismatch { digest: digest.clone() };
        if parts == 1 && Digest::of(&data) != *digest {
            return Err(mismatch());
        }
        if self.known().whole.contains_key(digest) {
            return Ok(true);
        }
        let size = (parts - 1) * PART as u64 + data.len() as u64;
        self.write(digest, part, data).await?;
        let all = {
            let mut known = self.known();
            let taken = known.partial.entry(digest.clone()).or_default();
            taken.insert(part);
            (0..parts).all(|part| taken.contains(&part))
        };
        if !all {
            return Ok(false);
        }
        self.known().partial.remove(digest);
        let size = if part + 1 == parts { size } else { self.length(digest, parts).await? };
        if self.verify(&Listed { digest: digest.clone(), size }).await? {
            return Ok(true);
        }
        for part in 0..parts {
            self.kv.delete(key(digest, part)).await?;
        }
        Err(mismatch())
    }

    async fn length(&self, digest: &Digest, parts: u64) -> Result<u64, ContentsError> {
        let last = self.part(digest, parts - 1).await?.map_or(0, |bytes| bytes.len() as u64);
        Ok((parts - 1) * PART as u64 + last)
    }

    /// Keeps a content of our own.
    ///
    /// # Errors
    /// Where the bus refuses or does not answer.
    pub async fn keep(&self, content: &Bytes) -> Result<Listed, ContentsError> {
        let listed = Listed { digest: Digest::of(content), size: content.len() as u64 };
        if self.known().whole.contains_key(&listed.digest) {
            return Ok(listed);
        }
        for part in 0..listed.parts() {
            let from = usize::try_from(part).unwrap_or(usize::MAX).saturating_mul(PART);
            let to = content.len().min(from + PART);
            self.write(&listed.digest, part, content.slice(from..to)).await?;
        }
        self.known().whole.insert(listed.digest.clone(), listed.size);
        Ok(listed)
    }

    /// A content that is there, and has this digest.
    ///
    /// # Errors
    /// Where the bus refuses or does not answer.
    pub async fn read(&self, listed: &Listed) -> Result<Option<Bytes>, ContentsError> {
        let mut content = BytesMut::new();
        for part in 0..listed.parts() {
            let Some(bytes) = self.part(&listed.digest, part).await? else { return Ok(None) };
            content.extend_from_slice(&bytes);
        }
        let content = content.freeze();
        if Digest::of(&content) != listed.digest || content.len() as u64 != listed.size {
            return Ok(None);
        }
        self.known().whole.insert(listed.digest.clone(), listed.size);
        Ok(Some(content))
    }

    /// The same, remembered until [`Contents::forget_texts_but`].
    ///
    /// # Errors
    /// As [`Contents::read`].
    pub async fn read_text(&self, listed: &Listed) -> Result<Option<Bytes>, ContentsError> {
        let known = self.known().texts.get(&listed.digest).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let read = self.read(listed).await?;
        if let Some(text) = &read {
            self.known().texts.insert(listed.digest.clone(), text.clone());
        }
        Ok(read)
    }

    /// Forgets texts that are not among these.
    pub fn forget_texts_but(&self, wanted: &BTreeSet<&Digest>) {
        self.known().texts.retain(|digest, _| wanted.contains(digest));
    }

    async fn part(&self, digest: &Digest, part: u64) -> Result<Option<Bytes>, ContentsError> {
        Ok(self.kv.get(key(digest, part)).await?.map(|entry| entry.value))
    }

    /// Writes a part, where it is not there already.
    async fn write(&self, digest: &Digest, part: u64, data: Bytes) -> Result<(), ContentsError> {
        if self.part(digest, part).await?.as_ref() != Some(&data) {
            self.kv.put(key(digest, part), data).await?;
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(digest: &Digest, part: u64) -> String {
    format!("{digest}.{part}")
}

/// Whether there can be such a part.
fn check(part: u64, parts: u64, size: usize) -> Result<(), ContentsError> {
    let last = part + 1 == parts;
    let fits = if last { size <= PART && (size > 0 || parts == 1) } else { size == PART };
    if part < parts && parts <= MAX_PARTS && fits {
        Ok(())
    } else {
        Err(ContentsError::Part { part, parts, size })
    }
}

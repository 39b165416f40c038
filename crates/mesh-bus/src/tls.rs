//! The mesh's own certificates: an authority made at the first start, and the certificate of a bus's server.
//!
//! Start at [`Ca::open`], then [`Ca::certify`]. Nothing else is believed: who joins is handed the [`Fingerprint`] of the
//! authority's certificate in a token, looks at what the server shows ([`look`]), and keeps the certificate that fits.
//!
//! The authority lives ten years. A server's certificate lives ninety days and is made anew when two thirds of that are
//! over ([`Certificate::is_due`]); whoever runs the server has it read again. All of them begin a day early, so that a clock
//! that is behind does no harm.

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;
use time::{Duration, OffsetDateTime};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use zeroize::Zeroizing;

use crate::authority::Clock;
use crate::keep::{self, KeepError};

mod look;

pub use look::{LookError, look};

const CA_LIFE: Duration = Duration::days(3653);
const SERVER_LIFE: Duration = Duration::days(90);
/// How much earlier than now each begins.
const EARLY: Duration = Duration::days(1);
/// What the authority is called; each mesh has one of that name, and they are told by their keys.
const CA_NAME: &str = "mesh certificate authority";
/// Before the blocks of a server's file stands what it says, for us.
const SAYS: &str = "mesh: ";

/// Why there is no authority, or no certificate.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file could not be used.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// A file is gone, and what it belongs to is there.
    #[error("{} is gone, and every machine of the mesh knows the bus by it: put it back", path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// A file is not what it should be.
    #[error("{} does not hold {expected}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        expected: &'static str,
    },
    /// Something could not be signed.
    #[error("cannot make the certificate for {of}")]
    Make {
        /// For whom.
        of: String,
        /// Why not.
        #[source]
        source: rcgen::Error,
    },
}

/// What a certificate is known by: the SHA-256 of its DER, in lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Of a certificate in DER.
    pub(crate) fn of(der: &[u8]) -> Self {
        Self(HEXLOWER.encode(&Sha256::digest(der)))
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The mesh's authority.
pub struct Ca {
    folder: PathBuf,
    clock: Clock,
    key: KeyPair,
    pem: String,
    fingerprint: Fingerprint,
}

impl std::fmt::Debug for Ca {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ca").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

/// The certificate of a server: what it says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The addresses and names that it is good for.
    pub names: Vec<String>,
    /// When it was made.
    #[serde(with = "time::serde::rfc3339")]
    pub since: OffsetDateTime,
    /// Until when it is good.
    #[serde(with = "time::serde::rfc3339")]
    pub until: OffsetDateTime,
}

impl Certificate {
    /// Whether it is time for the next one.
    #[must_use]
    pub fn is_due(&self, now: OffsetDateTime) -> bool {
        now >= self.since + (self.until - self.since) * 2 / 3
    }
}

impl Ca {
    /// Opens the authority in a folder, which is made with it where nothing is there yet. Neither of its two files is made
    /// again once both were there.
    ///
    /// # Errors
    /// Where a file cannot be used, is gone, or is not what it should be.
    pub fn open(folder: &Path, clock: Clock) -> Result<Self, TlsError> {
        keep::folder(folder)?;
        let (key_path, pem_path) = (folder.join("ca.key"), folder.join("ca.pem"));
        let damaged = |path: &Path, expected| TlsError::Damaged { path: path.to_owned(), expected };
        let pem = keep::read(&pem_path)?;
        let key = match keep::read(&key_path)?.map(Zeroizing::new) {
            Some(text) => KeyPair::from_pem(&text).map_err(|_| damaged(&key_path, "a key"))?,
            None if pem.is_some() => return Err(TlsError::Gone { path: key_path }),
            None => {
                let key = KeyPair::generate().map_err(|source| made(CA_NAME, source))?;
                keep::write(&key_path, &Zeroizing::new(key.serialize_pem()))?;
                key
            }
        };
        let pem = match pem {
            Some(pem) => pem,
            None if keep::is_there(&Self::certificate_in(folder))? => {
                return Err(TlsError::Gone { path: pem_path });
            }
            None => {
                let own = authority(clock()).self_signed(&key).map_err(|source| made(CA_NAME, source))?;
                keep::write(&pem_path, &own.pem())?;
                own.pem()
            }
        };
        let fingerprint = fingerprint(&pem).ok_or_else(|| damaged(&pem_path, "a certificate"))?;
        Ok(Self { folder: folder.to_owned(), clock, key, pem, fingerprint })
    }

    /// Its certificate, in PEM.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The file of its certificate.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// What its certificate is known by.
    #[must_use]
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    fn certificate_in(folder: &Path) -> PathBuf {
        folder.join("server.pem")
    }

    /// The file with the server's certificate, its key, and the authority's certificate.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        Self::certificate_in(&self.folder)
    }

    /// What the server's certificate says; none where there is none that can be read.
    ///
    /// # Errors
    /// Where the file cannot be used.
    pub fn certified(&self) -> Result<Option<Certificate>, TlsError> {
        let text = keep::read(&self.certificate())?.map(Zeroizing::new);
        let says = text.as_ref().and_then(|text| text.lines().next()?.strip_prefix(SAYS));
        Ok(says.and_then(|says| serde_json::from_str(says).ok()))
    }

    /// Sees to it that the server has a certificate that is good for these names, and for the loopback, and is not soon
    /// over. Says whether it is a new one.
    ///
    /// # Errors
    /// Where it cannot be made or kept.
    pub fn certify(&self, names: &[String]) -> Result<bool, TlsError> {
        let mut names = names.to_vec();
        names.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        names.sort();
        names.dedup();
        let now = (self.clock)();
        if self.certified()?.is_some_and(|has| has.names == names && !has.is_due(now)) {
            return Ok(false);
        }
        // Whole seconds: that is what a certificate can say.
        let now = now.replace_nanosecond(0).expect("0 is a number of nanoseconds");
        let says = Certificate { names, since: now, until: now + SERVER_LIFE };
        let of = says.names.join(", ");
        let (key, own) = self.sign(&says).map_err(|source| made(&of, source))?;
        let says = serde_json::to_string(&says).expect("plain data serializes");
        let (key, pem) = (Zeroizing::new(key.serialize_pem()), &self.pem);
        let text = Zeroizing::new(format!("{SAYS}{says}\n{}{own}{pem}", *key));
        keep::write(&self.certificate(), &text)?;
        Ok(true)
    }

    fn sign(&self, says: &Certificate) -> Result<(KeyPair, String), rcgen::Error> {
        let mut params = CertificateParams::new(says.names.clone())?;
        params.distinguished_name.push(DnType::CommonName, "mesh bus");
        (params.not_before, params.not_after) = (says.since - EARLY, says.until);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let issuer = Issuer::new(authority(says.since), &self.key);
        let own = params.signed_by(&key, &issuer)?;
        Ok((key, own.pem()))
    }
}

fn made(of: &str, source: rcgen::Error) -> TlsError {
    TlsError::Make { of: of.to_owned(), source }
}

/// What the authority's certificate says, the same at every start but for when it begins.
fn authority(now: OffsetDateTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, CA_NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = (now - EARLY, now + CA_LIFE);
    params
}

/// What the first certificate of a text is known by.
#[must_use]
pub fn fingerprint(pem: &str) -> Option<Fingerprint> {
    CertificateDer::from_pem_slice(pem.as_bytes()).ok().map(|der| Fingerprint::of(&der))
}

#[cfg(test)]
mod tests;

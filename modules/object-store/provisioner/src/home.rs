//! What a SeaweedFS needs before its first start: certificates, and its configuration where it looks for it.
//!
//! Its parts speak gRPC with each other, and whoever reaches that may read and write everything. So each shows a certificate,
//! of an authority that is forgotten as soon as it has signed one. They are made once and last: they say nothing of the
//! outside, and nobody outside the machine sees them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use thiserror::Error;
use time::{Duration, OffsetDateTime};
use zeroize::Zeroizing;

/// The authority's certificate, in the home.
pub(crate) const CA: &str = "ca.pem";
/// The parts' certificate.
pub(crate) const CERTIFICATE: &str = "part.pem";
/// Its key: made last, so that where it is, all is.
pub(crate) const KEY: &str = "part.key";
/// The name in the certificate.
pub(crate) const NAME: &str = "object-store.mesh.internal";
/// Where SeaweedFS looks for its configuration, below its home.
const SECURITY: &str = ".seaweedfs/security.toml";

/// Why the home could not be made.
#[derive(Debug, Error)]
pub(crate) enum HomeError {
    #[error("could not {doing} `{}`", path.display())]
    File {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not make a certificate")]
    Certificate(#[from] rcgen::Error),
}

/// Makes the home of a SeaweedFS. What is there is kept.
pub(crate) fn prepare(home: &Path, security: &Path) -> Result<(), HomeError> {
    let folder = home.join(SECURITY).parent().expect("it has one").to_owned();
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(failed("make the folder", &folder))?;
    if !home.join(KEY).exists() {
        certificates(home)?;
    }
    lead(&home.join(SECURITY), security)
}

fn certificates(home: &Path) -> Result<(), HomeError> {
    let now = OffsetDateTime::now_utc();
    let lasting = |mut params: CertificateParams| {
        // A day back, for a clock that is put right after the first start.
        (params.not_before, params.not_after) = (now - Duration::days(1), now + Duration::days(365 * 100));
        params
    };
    let mut authority = lasting(CertificateParams::new(Vec::<String>::new())?);
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.distinguished_name.push(DnType::CommonName, "parts of one object store");
    let authority_key = KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?;
    let mut part = lasting(CertificateParams::new(vec![
        NAME.to_owned(),
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
    ])?);
    part.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    part.distinguished_name.push(DnType::CommonName, NAME);
    let key = KeyPair::generate()?;
    let certificate = part.signed_by(&key, &Issuer::new(authority, authority_key))?;
    write(&home.join(CA), authority_certificate.pem().as_bytes())?;
    write(&home.join(CERTIFICATE), certificate.pem().as_bytes())?;
    write(&home.join(KEY), Zeroizing::new(key.serialize_pem()).as_bytes())
}

/// Puts a file of mode 0600 in place, whole.
fn write(path: &Path, content: &[u8]) -> Result<(), HomeError> {
    let beside = path.with_extension("new");
    let put = || {
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        File::open(path.parent().expect("it is in the home"))?.sync_all()
    };
    put().map_err(failed("write", path))
}

/// Has a path lead to a file, in one step.
fn lead(path: &Path, to: &Path) -> Result<(), HomeError> {
    if fs::read_link(path).is_ok_and(|there| there == to) {
        return Ok(());
    }
    let beside = path.with_extension("new");
    let put = || {
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        symlink(to, &beside)?;
        fs::rename(&beside, path)
    };
    put().map_err(failed("make the link", path))
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HomeError {
    let path = path.to_owned();
    move |source| HomeError::File { doing, path, source }
}

//! A look at the certificates that a bus shows, by somebody who has only a fingerprint to go by.
//!
//! Nothing is said to the server and nothing of it is believed: what comes back is the authority's certificate, found by
//! its fingerprint among those shown. Whether the server is of that authority is checked by whoever then connects.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use super::Fingerprint;
use crate::address::Address;

/// How long one server may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the authority's certificate was not seen.
#[derive(Debug, Error)]
pub enum LookError {
    /// No server can be reached.
    #[error("cannot reach the bus at {at}")]
    Unreachable {
        /// Where.
        at: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A server answers, and is not of this authority.
    #[error(
        "the bus at {at} is not of the mesh that the token is for: it does not know the authority {wanted}"
    )]
    Other {
        /// Where.
        at: String,
        /// The authority's fingerprint.
        wanted: Fingerprint,
    },
}

/// The certificate of the authority of this fingerprint, as a bus shows it, in PEM.
///
/// # Errors
/// Where no server can be reached, or none shows it.
pub async fn look(at: &Address, wanted: &Fingerprint) -> Result<String, LookError> {
    let mut last = None;
    for url in &at.urls {
        let looked = tokio::time::timeout(PATIENCE, shown(url));
        let shown = match looked.await.unwrap_or_else(|late| Err(late.into())) {
            Ok(shown) => shown,
            Err(source) => {
                last.get_or_insert(LookError::Unreachable { at: url.clone(), source });
                continue;
            }
        };
        match shown.iter().find(|der| Fingerprint::of(der) == *wanted) {
            Some(der) => return Ok(pem(der)),
            None => last = Some(LookError::Other { at: url.clone(), wanted: wanted.clone() }),
        }
    }
    Err(last.unwrap_or_else(|| LookError::Unreachable {
        at: at.to_string(),
        source: std::io::Error::other("the token names no address"),
    }))
}

fn pem(der: &CertificateDer<'_>) -> String {
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    let base64 = data_encoding::BASE64.encode(der);
    for line in base64.as_bytes().chunks(64) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text + "-----END CERTIFICATE-----\n"
}

/// All certificates that a server shows.
async fn shown(url: &str) -> std::io::Result<Vec<CertificateDer<'static>>> {
    let server: async_nats::ServerAddr = url.parse()?;
    let stream = TcpStream::connect((server.host(), server.port())).await?;
    // It greets in the open, and goes on under TLS.
    let mut stream = BufReader::new(stream);
    stream.read_line(&mut String::new()).await?;
    let provider = Arc::new(ring::default_provider());
    let viewer = Arc::new(Viewer { provider: Arc::clone(&provider), seen: Mutex::default() });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(std::io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&viewer) as _)
        .with_no_client_auth();
    let name = ServerName::try_from(server.host().to_owned()).map_err(std::io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    Ok(std::mem::take(&mut *viewer.seen.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Looks at the certificates, and lets each pass.
#[derive(Debug)]
struct Viewer {
    provider: Arc<CryptoProvider>,
    seen: Mutex<Vec<CertificateDer<'static>>>,
}

impl ServerCertVerifier for Viewer {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let all = std::iter::once(own).chain(others).map(|der| der.clone().into_owned()).collect();
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = all;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

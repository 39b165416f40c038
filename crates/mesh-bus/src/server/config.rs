//! The server's configuration file, and where its port is kept.
//!
//! In two files: `accounts.conf` follows from the keys, `nats-server.conf` from the port.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::{Listen, ServerConfig, ServerError, log_file};
use crate::authority::Authority;
use crate::keep::{self, KeepError};

const CONFIG: &str = "nats-server.conf";
const ACCOUNTS: &str = "accounts.conf";
const PORT: &str = "port";
/// How long a server that a killed process left behind has to end.
const LEFT_OVER: Duration = Duration::from_secs(5);

/// Writes a text as NATS's configuration reads it.
fn quoted(path: &Path) -> String {
    json!(path.to_string_lossy()).to_string()
}

/// Says whom the server believes.
pub(super) fn write_accounts(folder: &Path, authority: &Authority) -> Result<(), KeepError> {
    let preloaded: String =
        authority.preloaded().iter().map(|(key, token)| format!("  {key}: {token}\n")).collect();
    let text = format!(
        "operator: {}\nsystem_account: {}\nresolver {{\n  type: full\n  dir: {}\n  allow_delete: true\n  \
         interval: \"2m\"\n}}\nresolver_preload {{\n{preloaded}}}\n",
        authority.operator_token(),
        authority.system_account(),
        quoted(&folder.join("accounts")),
    );
    keep::write(&folder.join(ACCOUNTS), &text)
}

/// Writes the configuration for a port, `None` having the server pick one; returns the file.
pub(super) fn write(config: &ServerConfig, port: Option<u16>) -> Result<std::path::PathBuf, KeepError> {
    let folder = &config.folder;
    let port = port.map_or_else(|| "-1".to_owned(), |port| port.to_string());
    let tls = match &config.listen {
        Listen::Loopback { .. } => String::new(),
        Listen::Tls(tls) => format!(
            // Many may come at once, and a handshake costs.
            "tls {{\n  cert_file: {file}\n  key_file: {file}\n  timeout: 10\n}}\n",
            file = quoted(&tls.certificate),
        ),
    };
    let text = format!(
        "server_name: {name}\nhost: \"{host}\"\nport: {port}\nports_file_dir: {ports}\n\
         log_file: {log}\nlog_size_limit: 4194304\nlog_max_num: 2\nmax_payload: 1MB\n\
         jetstream {{\n  store_dir: {store}\n  sync_interval: always\n  max_file_store: 1TB\n}}\n\
         {tls}include {ACCOUNTS}\n",
        host = config.listen.host(),
        name = quoted_name(folder),
        ports = quoted(folder),
        log = quoted(&log_file(folder)),
        store = quoted(&folder.join("jetstream")),
    );
    let path = folder.join(CONFIG);
    keep::write(&path, &text)?;
    Ok(path)
}

/// A name by which a server of this folder is told from any other that holds the port.
fn quoted_name(folder: &Path) -> String {
    json!(server_name(folder)).to_string()
}

fn server_name(folder: &Path) -> String {
    use sha2::{Digest, Sha512_256};
    let digest = Sha512_256::digest(folder.to_string_lossy().as_bytes());
    format!("mesh-{}", data_encoding::HEXLOWER.encode(&digest[..8]))
}

/// The port to listen on: the one that was asked for, or the kept one where it is free; `None` to have one
/// picked.
pub(super) async fn port(config: &ServerConfig) -> Result<Option<u16>, ServerError> {
    // One that cannot be read is picked anew: it is told to everybody at each start.
    let kept = keep::read(&config.folder.join(PORT)).ok().flatten().and_then(|text| text.trim().parse().ok());
    let asked = config.listen.port();
    let Some(port) = asked.or(kept) else { return Ok(None) };
    let host = config.listen.reach();
    let until = tokio::time::Instant::now() + LEFT_OVER;
    while is_ours((host, port), &config.folder).await {
        if tokio::time::Instant::now() >= until {
            return Err(ServerError::Taken { folder: config.folder.clone() });
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let free = TcpListener::bind((host, port)).await.is_ok();
    Ok(Some(port).filter(|_| free || asked.is_some()))
}

/// Remembers the port.
pub(super) fn keep_port(folder: &Path, port: u16) -> Result<(), KeepError> {
    keep::write(&folder.join(PORT), &format!("{port}\n"))
}

/// Whether a server of this folder listens there: it tells its name to whoever connects.
async fn is_ours(at: (IpAddr, u16), folder: &Path) -> bool {
    let hello = async {
        let mut hello = String::new();
        let stream = TcpStream::connect(at).await?;
        BufReader::new(stream).read_line(&mut hello).await?;
        Ok::<_, std::io::Error>(hello)
    };
    match tokio::time::timeout(Duration::from_millis(500), hello).await {
        Ok(Ok(hello)) => hello.contains(&format!("\"server_name\":\"{}\"", server_name(folder))),
        _ => false,
    }
}

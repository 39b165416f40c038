//! A bus that other machines reach: by TLS alone, believed by the mesh's own authority alone.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mesh_bus::accounts::Accounts;
use mesh_bus::grants::{Grants, NodeReach};
use mesh_bus::server::{Listen, Server, ServerConfig, TlsListen};
use mesh_bus::testing::nats_server;
use mesh_bus::tls::{self, Ca, LookError};
use mesh_bus::{Address, Authority, Bucket, Bus, Creds, FirstTry, Kv, bucket};
use tempfile::TempDir;
use time::OffsetDateTime;

/// A server on an address that no other test uses, with an authority and everybody's keys.
struct Secured {
    server: Server,
    authority: Arc<Authority>,
    ca: Ca,
    folder: TempDir,
}

fn free_port(host: &str) -> u16 {
    std::net::TcpListener::bind((host, 0)).unwrap().local_addr().unwrap().port()
}

impl Secured {
    async fn start(host: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority =
            Arc::new(Authority::open(&folder.path().join("keys"), OffsetDateTime::now_utc).unwrap());
        let ca = Ca::open(&folder.path().join("ca"), OffsetDateTime::now_utc).unwrap();
        ca.certify(&[host.to_owned()]).unwrap();
        let server =
            Server::start(config(folder.path(), host, free_port(host), &ca), &authority).await.unwrap();
        Self { server, authority, ca, folder }
    }

    fn seat(&self) -> Creds {
        self.authority.creds(&"seat=mesh-controller".parse().unwrap())
    }

    async fn connect(&self, ca: &Path) -> Result<Bus, mesh_bus::client::ConnectError> {
        let at = Address { ca: Some(ca.to_owned()), ..self.server.address().clone() };
        Bus::connect(&at, &self.seat(), FirstTry::Fails).await
    }
}

fn config(folder: &Path, host: &str, port: u16, ca: &Ca) -> ServerConfig {
    ServerConfig {
        program: nats_server(),
        folder: folder.join("bus"),
        listen: Listen::Tls(TlsListen {
            host: host.parse().unwrap(),
            port,
            certificate: ca.certificate(),
            ca: ca.path(),
        }),
        launcher: Vec::new(),
    }
}

#[tokio::test]
async fn everything_works_by_tls() {
    let at = Secured::start("127.0.0.2").await;
    assert!(at.server.url().starts_with("tls://127.0.0.2:"), "{}", at.server.url());
    let controller = at.connect(&at.ca.path()).await.unwrap();
    bucket::ensure(&controller, &Bucket::fixed()).await.unwrap();
    let accounts = Accounts::connect(at.server.address(), Arc::clone(&at.authority)).await.unwrap();
    let grants = Grants::of_node(&"attic".parse().unwrap(), &NodeReach::default());
    accounts.push(&grants).await.unwrap();
    let creds = at.authority.creds(&grants.account);
    // One server of several that answers is enough.
    let mut address = at.server.address().clone();
    address.urls.insert(0, format!("tls://127.0.0.2:{}", free_port("127.0.0.2")));
    let node = Bus::connect(&address, &creds, FirstTry::Fails).await.unwrap();
    Kv::new(&node, Bucket::applied()).put("attic.notes", "{}").await.unwrap();
}

#[tokio::test]
async fn a_bus_of_another_authority_is_not_believed() {
    let at = Secured::start("127.0.0.2").await;
    let other = Ca::open(&at.folder.path().join("other"), OffsetDateTime::now_utc).unwrap();
    let error = at.connect(&other.path()).await.unwrap_err();
    assert!(!error.is_refused(), "it never said who it is: {error:?}");
    // Nor is one in the open, by whoever knows the authority.
    let in_the_open = Address::open(at.server.url().replace("tls:", "nats:"));
    assert!(Bus::connect(&in_the_open, &at.seat(), FirstTry::Fails).await.is_err());
    // Nor one whose certificate is for another address.
    let elsewhere = Secured::start("127.0.0.3").await;
    let url = format!("tls://127.0.0.2:{}", elsewhere.server.url().rsplit(':').next().unwrap());
    let forwarded = tokio::net::TcpListener::bind(url.strip_prefix("tls://").unwrap()).await.unwrap();
    let to = elsewhere.server.url().strip_prefix("tls://").unwrap().to_owned();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut one, _)) = forwarded.accept().await {
            let Ok(mut other) = tokio::net::TcpStream::connect(&to).await else { return };
            // It ends when either side does.
            let _ = tokio::io::copy_bidirectional(&mut one, &mut other).await;
        }
    });
    let address = Address { urls: vec![url], ca: Some(elsewhere.ca.path()) };
    let error = Bus::connect(&address, &elsewhere.seat(), FirstTry::Fails).await.unwrap_err();
    assert!(format!("{error:?}").contains("NotValidForName"), "{error:?}");
}

#[tokio::test]
async fn an_authority_is_found_by_its_fingerprint() {
    let at = Secured::start("127.0.0.2").await;
    let seen = tls::look(at.server.address(), at.ca.fingerprint()).await.unwrap();
    assert_eq!(tls::fingerprint(&seen).as_ref(), Some(at.ca.fingerprint()));
    let path = at.folder.path().join("seen.pem");
    tokio::fs::write(&path, &seen).await.unwrap();
    at.connect(&path).await.unwrap();
    let other = Ca::open(&at.folder.path().join("other"), OffsetDateTime::now_utc).unwrap();
    let error = tls::look(at.server.address(), other.fingerprint()).await.unwrap_err();
    assert!(matches!(error, LookError::Other { .. }), "{error:?}");
    let nowhere = Address { urls: vec![format!("tls://127.0.0.2:{}", free_port("127.0.0.2"))], ca: None };
    let error = tls::look(&nowhere, at.ca.fingerprint()).await.unwrap_err();
    assert!(matches!(error, LookError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_new_certificate_is_taken_up_and_no_connection_ends() {
    let at = Secured::start("0.0.0.0").await;
    assert!(at.server.url().starts_with("tls://127.0.0.1:"), "{}", at.server.url());
    let bus = at.connect(&at.ca.path()).await.unwrap();
    bucket::ensure(&bus, &[Bucket::seats()]).await.unwrap();
    let kv = Kv::new(&bus, Bucket::seats());
    let url = at.server.url().replace("127.0.0.1", "127.0.0.3");
    let address = Address { urls: vec![url], ca: Some(at.ca.path()) };
    let seat = at.seat();
    let by_another_name = || Bus::connect(&address, &seat, FirstTry::Fails);
    assert!(by_another_name().await.is_err(), "its certificate is not good for that");
    assert!(at.ca.certify(&["127.0.0.3".to_owned()]).unwrap());
    at.server.reload().now();
    let end = tokio::time::Instant::now() + Duration::from_secs(20);
    while let Err(error) = by_another_name().await {
        assert!(tokio::time::Instant::now() < end, "the new certificate is not taken up: {error:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    kv.put("notes-leader", "{}").await.unwrap();
    assert_eq!(bus.nats().statistics().connects.load(Ordering::Relaxed), 1);
}

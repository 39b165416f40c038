//! The server itself: where it listens, that it comes back the same, and that it ends.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use mesh_bus::account::Account;
use mesh_bus::server::{Listen, Server, ServerConfig, ServerError};
use mesh_bus::testing::nats_server;
use mesh_bus::{Authority, Bucket, Bus, FirstTry, Kv, bucket};
use time::OffsetDateTime;

fn config(folder: &Path) -> ServerConfig {
    ServerConfig {
        program: nats_server(),
        folder: folder.join("bus"),
        listen: Listen::Loopback { port: None },
        launcher: Vec::new(),
    }
}

fn authority(folder: &Path) -> Arc<Authority> {
    Arc::new(Authority::open(&folder.join("keys"), OffsetDateTime::now_utc).unwrap())
}

async fn all(server: &Server, authority: &Authority) -> Bus {
    Bus::connect(server.url(), &authority.creds_for_all(), FirstTry::Fails).await.unwrap()
}

#[tokio::test]
async fn it_comes_back_at_the_same_place_with_what_it_held_and_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut urls = Vec::new();
    for i in 0..3 {
        let authority = authority(folder.path());
        let server = Server::start(config(folder.path()), &authority).await.unwrap();
        let bus = all(&server, &authority).await;
        bucket::ensure(&bus, &Bucket::fixed()).await.unwrap();
        let kv = Kv::new(&bus, Bucket::registry());
        if i > 0 {
            assert_eq!(kv.get("secret").await.unwrap().unwrap().value, "kept");
        }
        kv.put("secret", "kept").await.unwrap();
        urls.push(server.url().to_owned());
        let pid = server.pid().borrow().unwrap();
        server.stop().await;
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "it has ended");
    }
    assert_eq!(urls[0], urls[1]);
    assert_eq!(urls[0], urls[2]);
}

#[tokio::test]
async fn it_listens_on_the_loopback_alone() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(config(folder.path()), &authority(folder.path())).await.unwrap();
    let pid = server.pid().borrow().unwrap();
    let listening = listening(pid);
    assert_eq!(listening.len(), 1, "one port alone: {listening:?}");
    assert!(listening[0].starts_with("0100007F:"), "{listening:?}");
    server.stop().await;
}

/// The local addresses on which a process listens, as the kernel writes them.
fn listening(pid: u32) -> Vec<String> {
    let inodes: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|fd| Some(std::fs::read_link(fd.ok()?.path()).ok()?.to_string_lossy().into_owned()))
        .filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let mut addresses = Vec::new();
    for table in ["tcp", "tcp6"] {
        for line in std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap().lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields[3] == "0A" && inodes.iter().any(|inode| inode == fields[9]) {
                addresses.push(fields[1].to_owned());
            }
        }
    }
    addresses
}

#[tokio::test]
async fn nobody_gets_in_without_being_known() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(config(folder.path()), &authority(folder.path())).await.unwrap();
    assert!(async_nats::connect(server.url()).await.is_err());
    let elsewhere = tempfile::tempdir().unwrap();
    let stranger = authority(elsewhere.path()).creds(&Account::Seat("mesh-vault".parse().unwrap()));
    assert!(Bus::connect(server.url(), &stranger, FirstTry::Fails).await.is_err());
    server.stop().await;
}

/// This program again, as the test of this name, with arguments of its own.
fn ourselves(test: &str) -> Vec<OsString> {
    let exe = std::env::current_exe().unwrap();
    let test = format!("servers::{test}");
    vec![exe.into(), "--ignored".into(), "--exact".into(), test.into(), "--".into()]
}

fn arguments() -> Vec<OsString> {
    std::env::args_os().skip_while(|argument| argument != "--").skip(1).collect()
}

#[test]
#[ignore = "it is what the server is started through in another test"]
fn launcher() {
    let _ = mesh_bus::server::launch(&arguments());
    panic!("it did not become the server");
}

#[tokio::test]
#[ignore = "it is what is killed in another test"]
async fn victim() {
    let [folder] = &arguments()[..] else { panic!("it wants a folder") };
    let folder = Path::new(folder);
    let config = ServerConfig { launcher: ourselves("launcher"), ..config(folder) };
    let server = Server::start(config, &authority(folder)).await.unwrap();
    let pid = server.pid().borrow().unwrap();
    // Under another name first: whoever waits for it reads it whole.
    std::fs::write(folder.join("pid.new"), pid.to_string()).unwrap();
    std::fs::rename(folder.join("pid.new"), folder.join("pid")).unwrap();
    std::future::pending().await
}

#[tokio::test]
async fn it_ends_with_us_even_where_we_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let command = ourselves("victim");
    let mut victim = tokio::process::Command::new(&command[0])
        .args(&command[1..])
        .arg(folder.path())
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let pid = soon(|| std::fs::read_to_string(folder.path().join("pid")).ok()).await;
    let process = Path::new("/proc").join(pid);
    assert!(std::fs::read_to_string(process.join("cmdline")).unwrap().contains("nats-server.conf"));
    victim.kill().await.unwrap();
    let gone = || {
        // What has ended and was not waited for by anybody is still listed.
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    };
    soon(gone).await;
}

async fn soon<T>(what: impl Fn() -> Option<T>) -> T {
    let wait = async {
        loop {
            match what() {
                Some(it) => return it,
                None => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), wait).await.expect("it happens soon")
}

#[tokio::test]
async fn a_second_server_in_one_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let authority = authority(folder.path());
    let first = Server::start(config(folder.path()), &authority).await.unwrap();
    let second = Server::start(config(folder.path()), &authority).await;
    assert!(matches!(second, Err(ServerError::Taken { .. })), "{second:?}");
    first.stop().await;
}

#[tokio::test]
async fn what_holds_its_port_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let config = ServerConfig { listen: Listen::Loopback { port: Some(port) }, ..config(folder.path()) };
    let error = Server::start(config, &authority(folder.path())).await.unwrap_err();
    assert!(error.to_string().contains("address already in use"), "{error}");
}

#[tokio::test]
async fn its_files_are_for_us_alone_and_its_log_has_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let authority = authority(folder.path());
    let server = Server::start(config(folder.path()), &authority).await.unwrap();
    all(&server, &authority).await;
    server.stop().await;
    let mode = |path: &str| std::fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o777;
    for file in
        ["keys/operator.nk", "keys/system.nk", "keys/bus.nk", "bus/accounts.conf", "bus/nats-server.conf"]
    {
        assert_eq!(mode(file), 0o600, "{file}");
    }
    for folder in ["keys", "bus"] {
        assert_eq!(mode(folder), 0o700, "{folder}");
    }
    let log = std::fs::read_to_string(mesh_bus::server::log_file(&folder.path().join("bus"))).unwrap();
    for key in ["operator.nk", "system.nk", "bus.nk"] {
        let seed = std::fs::read_to_string(folder.path().join("keys").join(key)).unwrap();
        assert!(!log.contains(seed.trim()));
    }
}

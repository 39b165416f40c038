//! A SeaweedFS of its own for each test: free ports, a temporary folder, gone with the test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::RequestBuilder;
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use tempfile::TempDir;

/// Who administers it.
pub(crate) const ADMIN: (&str, &str) = ("mesh-admin", "administrator-of-this-test-alone");
const FILER_KEY: &str = "key-of-the-filer-of-this-test-alone";
/// How long the store has to get ready.
const PATIENCE: Duration = Duration::from_secs(120);
const SIGNED_FOR: Duration = Duration::from_secs(60);

/// One store.
pub(crate) struct Store {
    folder: TempDir,
    ports: [u16; 10],
    children: Vec<Child>,
}

/// What a request came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Came {
    Through(String),
    /// With S3's code.
    Refused(String),
}

/// The program that `cargo xtask setup` put beside the builds, unless another one is named.
fn weed() -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_mesh-object-store-provisioner"));
    let beside = built.ancestors().nth(2).unwrap().join("tools/weed/bin/weed");
    option_env!("MESH_WEED").map_or(beside, PathBuf::from)
}

#[expect(clippy::disallowed_methods, reason = "a test may write a file as it likes")]
pub(crate) fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

impl Store {
    /// A store that is up.
    pub(crate) async fn start() -> Self {
        let mut store = Self::prepared();
        store.up().await;
        store
    }

    /// A store that is not up yet.
    pub(crate) fn prepared() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let held = [(); 10].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = held.map(|one| one.local_addr().unwrap().port());
        let store = Self { folder, ports, children: Vec::new() };
        for name in ["data", "home", "sockets"] {
            fs::create_dir(store.path(name)).unwrap();
        }
        write(&store.path("security.toml"), &security(&store.path("home")));
        write(&store.path("filer-key"), FILER_KEY);
        write(&store.path("admin-secret"), ADMIN.1);
        let mut prepare = Command::new(env!("CARGO_BIN_EXE_mesh-object-store-provisioner"));
        prepare.arg("prepare").arg("--home").arg(store.path("home"));
        assert!(prepare.arg("--security").arg(store.path("security.toml")).status().unwrap().success());
        store
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn s3(&self) -> u16 {
        self.ports[0]
    }

    pub(crate) fn filer(&self) -> u16 {
        self.ports[7]
    }

    /// Starts it as `module.yaml` does, and waits until it answers.
    pub(crate) async fn up(&mut self) {
        let [s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc, admin, admin_grpc] =
            self.ports;
        let (data, sockets) = (self.path("data"), self.path("sockets"));
        let (data, sockets) = (data.display(), sockets.display());
        self.run(&format!(
            "mini -dir={data} -ip=127.0.0.1 -ip.bind=127.0.0.1 -master.port={master} -master.port.grpc={master_grpc} \
             -volume.port={volume} -volume.port.grpc={volume_grpc} -filer.port={filer} \
             -filer.port.grpc={filer_grpc} -filer.localSocket={sockets}/filer -s3=false -webdav=false -admin.ui=false \
             -admin.port={admin} -admin.port.grpc={admin_grpc} -master.telemetry=false"
        ));
        self.listens(filer_grpc).await;
        self.run(&format!(
            "s3 -filer=127.0.0.1:{filer}.{filer_grpc} -ip.bind=127.0.0.1 -port={s3} -port.grpc={s3_grpc} \
             -localSocket={sockets}/s3 -port.iceberg=0 -port.lance=0 -allowDeleteBucketNotEmpty=false \
             -autoCreateBucket=false"
        ));
        self.listens(s3).await;
    }

    async fn listens(&self, port: u16) {
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < PATIENCE, "nothing listens at {port}:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn run(&mut self, arguments: &str) {
        let log = fs::File::options().create(true).append(true).open(self.path("log")).unwrap();
        let mut command = Command::new("setpriv");
        command.arg("--pdeathsig=KILL").arg("--").arg(weed()).args(arguments.split_whitespace());
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("sockets"));
        command.env("AWS_ACCESS_KEY_ID", ADMIN.0).env("AWS_SECRET_ACCESS_KEY", ADMIN.1);
        command.stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::null());
        self.children.push(command.spawn().unwrap());
    }

    /// As the power cut does.
    pub(crate) fn kill(&mut self) {
        for mut child in self.children.drain(..) {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// All that it logged.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.path("log")).unwrap_or_default()).into_owned()
    }

    fn bucket(&self, name: &str) -> Bucket {
        let url = format!("http://127.0.0.1:{}", self.s3()).parse().unwrap();
        Bucket::new(url, UrlStyle::Path, name.to_owned(), "us-east-1".to_owned()).unwrap()
    }

    /// Puts an object.
    pub(crate) async fn put(&self, by: (&str, &str), bucket: &str, name: &str, text: &str) -> Came {
        let (bucket, by) = (self.bucket(bucket), Credentials::new(by.0, by.1));
        let url = bucket.put_object(Some(&by), name).sign(SIGNED_FOR);
        came(client().put(url).body(text.to_owned())).await
    }

    /// Gets an object.
    pub(crate) async fn get(&self, by: (&str, &str), bucket: &str, name: &str) -> Came {
        let (bucket, by) = (self.bucket(bucket), Credentials::new(by.0, by.1));
        came(client().get(bucket.get_object(Some(&by), name).sign(SIGNED_FOR))).await
    }

    /// Deletes an object.
    pub(crate) async fn delete(&self, by: (&str, &str), bucket: &str, name: &str) -> Came {
        let (bucket, by) = (self.bucket(bucket), Credentials::new(by.0, by.1));
        came(client().delete(bucket.delete_object(Some(&by), name).sign(SIGNED_FOR))).await
    }

    /// Makes a bucket.
    pub(crate) async fn make(&self, by: (&str, &str), bucket: &str) -> Came {
        let (bucket, by) = (self.bucket(bucket), Credentials::new(by.0, by.1));
        came(client().put(bucket.create_bucket(&by).sign(SIGNED_FOR))).await
    }

    /// Deletes a bucket.
    pub(crate) async fn unmake(&self, by: (&str, &str), bucket: &str) -> Came {
        let (bucket, by) = (self.bucket(bucket), Credentials::new(by.0, by.1));
        came(client().delete(bucket.delete_bucket(&by).sign(SIGNED_FOR))).await
    }

    /// Lists a bucket.
    pub(crate) async fn list(&self, by: (&str, &str), bucket: &str) -> Came {
        let (bucket, by) = (self.bucket(bucket), Credentials::new(by.0, by.1));
        came(client().get(bucket.list_objects_v2(Some(&by)).sign(SIGNED_FOR))).await
    }
}

impl Came {
    pub(crate) fn is_through(&self) -> bool {
        matches!(self, Self::Through(_))
    }

    pub(crate) fn is_refused(&self, code: &str) -> bool {
        matches!(self, Self::Refused(said) if said == code)
    }
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().timeout(SIGNED_FOR).build().unwrap()
}

async fn came(request: RequestBuilder) -> Came {
    let answer = request.send().await.unwrap();
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    match code {
        _ if status.is_success() => Came::Through(text),
        Some((code, _)) => Came::Refused(code.to_owned()),
        None => Came::Refused(status.to_string()),
    }
}

fn security(home: &Path) -> String {
    let home = home.display();
    let jwt = ["jwt.signing", "jwt.signing.read", "jwt.filer_signing.read"];
    let jwt = jwt.map(|name| format!("[{name}]\nkey = \"key-of-{name}\"\n"));
    let parts = ["master", "volume", "filer", "s3", "admin", "worker", "client"];
    let parts =
        parts.map(|part| format!("[grpc.{part}]\ncert = \"{home}/part.pem\"\nkey = \"{home}/part.key\"\n"));
    let filer = format!("[jwt.filer_signing]\nkey = \"{FILER_KEY}\"\n[grpc]\nca = \"{home}/ca.pem\"\n");
    jwt.concat() + &filer + &parts.concat()
}

impl Drop for Store {
    fn drop(&mut self) {
        self.kill();
    }
}

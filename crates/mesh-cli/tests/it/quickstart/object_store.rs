//! A module that needs a bucket, in a whole mesh with a real SeaweedFS: it gets one with a key of its own, and the key is
//! refused as soon as the module is taken out.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use serde_json::Value;

use crate::quickstart::home::Home;
use crate::quickstart::until;

const ALBUM: &str = r#"
module: album
summary: Writes down how it reaches its bucket
needs:
  files: {provision: s3-bucket}
files:
  store.json:
    content: |
      {"endpoint": ${bound.files.endpoint | json}, "region": ${bound.files.region | json}, "bucket": ${bound.files.bucket | json},
       "access_key": ${bound.files.access_key | json}, "secret_key": ${bound.files.secret_key | json}}
"#;

/// The program that `cargo xtask setup` put beside the builds, unless another one is named.
fn weed() -> PathBuf {
    let target = Path::new(env!("CARGO_BIN_EXE_mesh")).ancestors().nth(2).unwrap();
    option_env!("MESH_WEED").map_or_else(|| target.join("tools/weed/bin/weed"), PathBuf::from)
}

/// What a consumer was given.
struct Store {
    bucket: Bucket,
    key: Credentials,
}

impl Store {
    fn of(home: &Home) -> Self {
        let file = home.state().join("nodes/attic/modules/album/files/store.json");
        let told: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let field = |name: &str| told[name].as_str().unwrap().to_owned();
        let url = field("endpoint").parse().unwrap();
        let bucket = Bucket::new(url, UrlStyle::Path, field("bucket"), field("region")).unwrap();
        Self { bucket, key: Credentials::new(field("access_key"), field("secret_key")) }
    }

    /// Puts an object, and says how that went.
    fn put(&self, name: &str) -> StatusCode {
        let url = self.bucket.put_object(Some(&self.key), name).sign(Duration::from_secs(60));
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(client.put(url).body("hello").send()).unwrap().status()
    }
}

#[test]
fn a_module_gets_a_bucket_and_loses_its_key_when_it_is_taken_out() {
    let home = Home::quickstart();
    home.write("modules/album/module.yaml", ALBUM);
    let mesh = |assigned: &str| {
        format!(
            "mesh: home\nnodes:\n  attic: {{address: 127.0.0.1}}\nassign:\n  object-store: attic\n{assigned}\
             config:\n  object-store: {{weed: {}}}\n",
            weed().display()
        )
    };
    home.write("mesh.yaml", &mesh("  album: attic\n"));
    home.up();
    let store = Store::of(&home);
    assert_eq!(store.put("a.txt"), StatusCode::OK);

    home.write("mesh.yaml", &mesh(""));
    let ran = home.mesh("apply --yes");
    assert_eq!(ran.exit, 0, "{ran}");
    let accepted = Instant::now();
    until("its key is refused", || (store.put("b.txt") == StatusCode::FORBIDDEN).then_some(()));
    let took = accepted.elapsed();
    assert!(took < Duration::from_secs(3), "its key was good for {took:?}: {}", home.log());
    home.settle();

    home.write("mesh.yaml", &mesh("  album: attic\n"));
    home.apply();
    assert_eq!(Store::of(&home).put("c.txt"), StatusCode::OK);
    home.down();
}

//! A control plane with its controller, and a small mesh to apply: a provider on `attic`, a consumer on `cellar`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::BASE64;
use mesh_bus::account::Usage;
use mesh_bus::accounts::Accounts;
use mesh_bus::testing::Bus;
use mesh_bus::verb::{AskError, VerbError, ask};
use mesh_bus::{Account, Bucket, Creds, FirstTry, Kv, Mirror, UserKey};
use mesh_controller::{Config, Roster, run};
use mesh_model::digest::Digest;
use mesh_model::wire::{ApplyAnswer, ApplyAsk, Listed, Listing, PART, StatusAnswer, UploadAnswer, UploadAsk};
use mesh_plan::{Catalog, Description};
use serde_json::json;
use time::OffsetDateTime;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A control plane.
pub(crate) struct Control {
    pub(crate) bus: Bus,
    /// A connection with all rights, to look with.
    pub(crate) eye: mesh_bus::Bus,
    /// Who hands over and applies, where nothing else is said: `ada`.
    pub(crate) operator: mesh_bus::Bus,
    pub(crate) roster: Arc<Roster>,
    stop: CancellationToken,
    task: JoinSet<()>,
}

impl Control {
    pub(crate) async fn start() -> Self {
        let bus = Bus::start().await;
        let (eye, operator) = (bus.seat("mesh-controller").await, bus.operator_named("ada").await);
        let roster = roster(&bus).await;
        let (stop, task) = (CancellationToken::new(), JoinSet::new());
        let mut control = Self { bus, eye, operator, roster, stop, task };
        control.start_controller().await;
        control
    }

    pub(crate) async fn start_controller(&mut self) {
        let connection = self.bus.seat("mesh-controller").await;
        let node = "attic".parse().expect("a name");
        let roster = Arc::clone(&self.roster);
        let config = Config {
            lease: Duration::from_secs(1),
            period: Duration::from_millis(200),
            patience: Duration::from_secs(2),
            ..Config::new(connection, roster, Catalog::default(), node, OffsetDateTime::now_utc)
        };
        self.stop = CancellationToken::new();
        let told = self.stop.clone();
        self.task.spawn(async move { run(config, told).await.expect("it ends when it is told to") });
        until("the controller answers", || async { self.status().await.is_ok() }).await;
    }

    /// Ends the controller as a crash would: nothing is finished.
    pub(crate) async fn crash(&mut self) {
        self.task.abort_all();
        while self.task.join_next().await.is_some() {}
        self.roster = roster(&self.bus).await;
    }

    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.task.join_next().await {
            ended.expect("it does not panic");
        }
    }

    pub(crate) async fn status(&self) -> Result<StatusAnswer, AskError> {
        ask(&self.operator, "mesh-controller.status", &json!({})).await
    }

    /// Hands over what is missing of a mesh.
    pub(crate) async fn hand_over(&self, mesh: &Mesh) {
        let have: Vec<Listed> = mesh.listing().files.into_values().collect();
        let answer: UploadAnswer = self.upload(&UploadAsk::Have { have }).await.expect("an answer");
        for content in mesh.files.iter().map(|(_, text)| text.as_bytes()) {
            let digest = Digest::of(content);
            if answer.missing.contains(&digest) {
                self.hand_over_content(content).await;
            }
        }
    }

    pub(crate) async fn hand_over_content(&self, content: &[u8]) {
        let digest = Digest::of(content);
        let parts = Listed { digest: digest.clone(), size: content.len() as u64 }.parts();
        let mut last = Vec::new();
        for part in 0..parts {
            let from = usize::try_from(part).expect("a small number") * PART;
            let data = BASE64.encode(&content[from..content.len().min(from + PART)]);
            let ask = UploadAsk::Part { digest: digest.clone(), part, parts, data };
            last = self.upload(&ask).await.expect("an answer").missing;
        }
        assert_eq!(last, [], "it is whole with its last part");
    }

    pub(crate) async fn upload(&self, what: &UploadAsk) -> Result<UploadAnswer, VerbError> {
        refusal(ask(&self.operator, "mesh-controller.upload", what).await)
    }

    pub(crate) async fn apply(
        &self,
        mesh: &Mesh,
        follows: Option<&Digest>,
    ) -> Result<ApplyAnswer, VerbError> {
        self.hand_over(mesh).await;
        self.apply_as(&self.operator, mesh, follows).await
    }

    pub(crate) async fn apply_as(
        &self,
        operator: &mesh_bus::Bus,
        mesh: &Mesh,
        follows: Option<&Digest>,
    ) -> Result<ApplyAnswer, VerbError> {
        let question = ApplyAsk { description: mesh.listing(), follows: follows.cloned() };
        refusal(ask(operator, "mesh-controller.apply", &question).await)
    }

    /// Waits until the bus says what the plan in effect says.
    pub(crate) async fn in_step(&self) {
        until("the mirror is in step", || async { self.status().await.is_ok_and(|status| status.in_step) })
            .await;
    }

    /// What a key holds.
    pub(crate) async fn value(&self, bucket: Bucket, key: &str) -> Option<serde_json::Value> {
        let entry = Kv::new(&self.eye, bucket).get(key).await.expect("the eye may look");
        entry.map(|entry| serde_json::from_slice(&entry.value).expect("JSON"))
    }

    /// Waits for a whole look of the mirror that has begun after now. It prunes a key that no plan knows: when it does
    /// so for the second time, all of that look came after the first.
    pub(crate) async fn looked(&self) {
        let kv = Kv::new(&self.eye, Bucket::needs());
        for key in ["nowhere.x.config.y", "nowhere.x.config.z"] {
            kv.put(key, "{}").await.expect("the eye may write");
            until("the mirror looks", || async { kv.get(key).await.expect("the eye may look").is_none() })
                .await;
        }
    }

    /// The last revision of each bucket that the controller writes: they grow with each write.
    pub(crate) async fn revisions(&self) -> Vec<(BTreeMap<String, u64>, Vec<String>)> {
        let mut all = Vec::new();
        for bucket in [Bucket::assignments(), Bucket::config(), Bucket::plan(), Bucket::files()] {
            // With the marks that deleted keys leave.
            let keys = mesh_bus::bucket::keys(&self.eye, &bucket).await.expect("the eye may look");
            let mirror = Mirror::open(&self.eye, bucket, ">", Usage::read());
            mirror.ready().await;
            let revisions =
                mirror.snapshot().iter().map(|(key, entry)| (key.clone(), entry.revision)).collect();
            all.push((revisions, keys));
        }
        all
    }

    /// A node that joins, on the bus.
    pub(crate) async fn node(&self, name: &str) -> mesh_bus::Bus {
        let key = UserKey::new();
        let name = name.parse().expect("a name");
        let token = self.roster.admit_node(&name, &key.public()).await.expect("it is let in");
        let creds = Creds::new(Account::Node(name), token, key);
        mesh_bus::Bus::connect(self.bus.url(), &creds, FirstTry::Fails).await.expect("the server lets it in")
    }
}

async fn roster(bus: &Bus) -> Arc<Roster> {
    let accounts =
        Accounts::connect(bus.url(), Arc::clone(&bus.authority)).await.expect("the system account");
    let (seat, authority) = (bus.seat("mesh-controller").await, Arc::clone(&bus.authority));
    let roster = Roster::open(&seat, authority, accounts, OffsetDateTime::now_utc).await;
    Arc::new(roster.expect("an empty bucket, or ours"))
}

fn refusal<T>(answer: Result<T, AskError>) -> Result<T, VerbError> {
    answer.map_err(|error| match error {
        AskError::Refused { refused, .. } => refused,
        error => panic!("{error:?}"),
    })
}

pub(crate) async fn until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(15);
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A mesh description, file by file.
#[derive(Clone)]
pub(crate) struct Mesh {
    files: Vec<(&'static str, String)>,
}

const STORE: &str = "\
module: store
ports: {sql: auto}
dirs: {answers: {}}
provides:
  database:
    answers: \"${dir.answers}/database.json\"
    takes:
      name: {default: \"${consumer.module}\"}
    gives:
      host: {}
      password: {secret: true}
files:
  consumers.json: {content: \"${consumers.database | json}\"}
";

const NOTES: &str = "\
module: notes
config:
  title: {default: Notes}
needs:
  db: {provision: database}
files:
  app.conf: {content: \"title=${config.title | env} host=${bound.db.host}\"}
  logo.svg: {from: logo.svg, verbatim: true}
";

impl Mesh {
    pub(crate) fn new() -> Self {
        Self::with("assign: {store: attic, notes: cellar}\n")
    }

    /// The same nodes and modules, with this rest of `mesh.yaml`.
    pub(crate) fn with(rest: &str) -> Self {
        let mesh = format!(
            "mesh: home\nnodes:\n  attic: {{address: 127.0.0.1}}\n  cellar: {{address: 127.0.0.1}}\n{rest}"
        );
        let files = vec![
            ("mesh.yaml", mesh),
            ("modules/store/module.yaml", STORE.to_owned()),
            ("modules/notes/module.yaml", NOTES.to_owned()),
            ("modules/notes/logo.svg", "<svg/>".to_owned()),
        ];
        Self { files }
    }

    /// The same with a file that is made from one beside the manifest, which says this.
    pub(crate) fn beside(text: &str) -> Self {
        let mut mesh = Self::new();
        mesh.files[2].1.push_str("  site.conf: {from: site.conf}\n");
        mesh.files.push(("modules/notes/site.conf", text.to_owned()));
        mesh
    }

    pub(crate) fn titled(title: &str) -> Self {
        Self::with(&format!(
            "assign: {{store: attic, notes: cellar}}\nconfig: {{notes: {{title: {title}}}}}\n"
        ))
    }

    pub(crate) fn listing(&self) -> Listing {
        let mut description = Description::default();
        self.files.iter().for_each(|(path, text)| description.insert(path, text.as_bytes()));
        let listed = |file: mesh_plan::FileEntry| Listed { digest: file.digest, size: file.size };
        let files = description.files.into_iter().map(|(path, file)| (path, listed(file))).collect();
        Listing { files, shipped: description.shipped }
    }
}

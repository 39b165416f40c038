//! What every test here stands on: a state folder, a host in it, scripts as services, and waiting for a condition.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use mesh_node::{
    host::{
        DesiredModule, Host, HostConfig, Program, Restart, RunState, ServiceSpec, ServiceState, Shutdown,
    },
    shim::StopSignal,
};
use mesh_seal::Secret;

/// The program that is a shim and a node for these tests.
pub(crate) const TESTBED: &str = env!("CARGO_BIN_EXE_mesh-node-testbed");

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A node's state folder, which other users can pass through, and a folder for what services write for the test to see.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let open = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        open(folder.path(), 0o711);
        std::fs::create_dir(folder.path().join("seen")).unwrap();
        open(&folder.path().join("seen"), 0o777);
        Self { folder }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Where a service leaves word.
    pub(crate) fn seen(&self, name: &str) -> PathBuf {
        self.folder.path().join("seen").join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.seen(name)).unwrap_or_default()
    }

    pub(crate) async fn host(&self) -> Host {
        let program = Program { path: TESTBED.into(), arguments: vec!["shim".into()] };
        let config = HostConfig { node: "attic".into(), state: self.state(), program, timezone: None };
        Host::start(config).await.unwrap()
    }

    /// A node in a process of its own, which runs that script as its one service.
    pub(crate) fn node(&self, script: &str) -> Killable {
        Killable::start(Command::new(TESTBED).arg("node").arg(self.state()).arg(script))
    }

    /// A service that runs that script; `$SEEN` is where it leaves word.
    pub(crate) fn service(&self, name: &str, script: &str) -> ServiceSpec {
        let seen = self.folder.path().join("seen").to_str().unwrap().to_owned();
        ServiceSpec {
            name: name.into(),
            prepare: Vec::new(),
            exec: ["sh", "-c", script].map(String::from).to_vec(),
            env: vec![("SEEN".into(), Secret::from(seen))],
            user: None,
            health: None,
            restart: Restart::Always,
            stop_signal: StopSignal::Term,
            stop_deadline: Duration::from_secs(5),
            digest: "1".into(),
            reload_digest: "1".into(),
            ports: Vec::new(),
        }
    }
}

/// The module `box` of those services.
pub(crate) fn module(services: Vec<ServiceSpec>) -> DesiredModule {
    DesiredModule { module: "box".into(), dirs: Vec::new(), services }
}

/// A process that is killed with the value, if it was not before.
pub(crate) struct Killable(Child);

impl Killable {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    /// It does nothing more, until it is killed.
    pub(crate) fn freeze(&self) {
        signal("-STOP", self.0.id());
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Killable {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `look` finds something, or fails the test saying what was waited for.
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until a service of `box` is as `is` wants it.
pub(crate) async fn service_is(host: &Host, name: &str, is: impl Fn(&ServiceState) -> bool) -> ServiceState {
    let mut states = host.states();
    let found = states
        .wait_for(|states| states.get("box").and_then(|module| module.services.get(name)).is_some_and(&is));
    match tokio::time::timeout(PATIENCE, found).await {
        Ok(states) => states.unwrap()["box"].services[name].clone(),
        Err(_) => {
            let said = mesh_node::host::logs::tail(&host.layout().log("box", name), 30);
            panic!("`{name}` never became so: {:#?}\nit said: {said:#?}", *host.states().borrow())
        }
    }
}

pub(crate) async fn running(host: &Host, name: &str) {
    service_is(host, name, |service| service.state == RunState::Running).await;
}

/// Stops everything, and sees that nothing is left of it.
pub(crate) async fn finish(bench: &Bench, host: Host) {
    assert_eq!(host.shutdown(PATIENCE).await, Shutdown::Clean);
    let marked = marked(bench);
    assert_eq!(marked, Vec::<i32>::new(), "left behind");
}

/// Every process that was started below this bench's folder and has ended neither itself nor its environment.
pub(crate) fn marked(bench: &Bench) -> Vec<i32> {
    let folder = bench.state();
    let Ok(metadata) = folder.metadata() else { return Vec::new() };
    use std::os::unix::fs::MetadataExt;
    let end = format!("@{:x}-{:x}", metadata.dev(), metadata.ino());
    let is_marked = |pid: &i32| {
        std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
            environment
                .split(|byte| *byte == 0)
                .any(|entry| entry.starts_with(b"MESH_SERVICE=") && entry.ends_with(end.as_bytes()))
        })
    };
    pids().into_iter().filter(is_marked).collect()
}

pub(crate) fn pids() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Whether it can still do anything: a process that nobody has waited for yet cannot.
pub(crate) fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])))
}

/// The parent of a process that is there.
pub(crate) fn parent(pid: i32) -> i32 {
    parent_of(pid).unwrap()
}

/// The parent of a process.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// A process number that a script has left.
pub(crate) async fn pid(bench: &Bench, name: &str) -> i32 {
    until(&format!("the process number in {name}"), || {
        bench.read(name).strip_suffix('\n').and_then(|text| text.parse().ok())
    })
    .await
}

pub(crate) fn kill_9(pid: i32) {
    signal("-9", u32::try_from(pid).unwrap());
}

fn signal(signal: &str, pid: u32) {
    assert!(pid > 1);
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

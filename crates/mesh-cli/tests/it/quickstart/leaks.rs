//! A sentinel planted as a secret, and every secret that was made: searched for in all that comes out.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::run;
use crate::quickstart::home::Home;
use crate::quickstart::processes::{self, contains};

/// What it is found by, however the rest of it is quoted.
const MARK: &str = "s3ntinel-8fK2";
const SENTINEL: &str = "s3ntinel-8fK2 a$b${x}#'\"\\ é\nand a second line";

const MAIL: &str = "\
module: mail
secrets: {smtp: {supplied: true}}
files:
  plain: {content: '${secret.smtp}'}
  mail.json: {content: '{\"smtp\": ${secret.smtp | json}}'}
run:
  server:
    exec: [sh, -c, 'echo started; exec sleep infinity']
    env: {SMTP: '${secret.smtp}'}
    user: nobody
";

#[test]
fn a_secret_is_where_it_is_meant_to_be_and_nowhere_else() {
    let home = Home::quickstart();
    home.write("modules/mail/module.yaml", MAIL);
    home.edit("mesh.yaml", "notes: cellar", "mail: cellar\n  notes: cellar");
    let server = mesh_bus::testing::nats_server();
    let mut up = Command::new(env!("CARGO_BIN_EXE_mesh"));
    up.args(["up", "--detach", "--timeout", "3", "--nats-server"]).arg(server);
    let up = up.current_dir(home.dir()).env("MESH_LOG", "trace").output().unwrap();
    assert_eq!(up.status.code(), Some(4), "it waits for the sentinel: {up:?}");
    let waiting = home.module("cellar", "mail").unwrap();
    assert_eq!(waiting["state"], "waiting", "{waiting}");
    let set = run(home.dir(), &["secret", "set", "mail.smtp"], &format!("{SENTINEL}\n"));
    assert_eq!(set.exit, 0, "{set}");
    home.settle();
    home.browser().write("something for the server to log");

    let folder = home.state().join("nodes/cellar/modules/mail/files");
    assert_eq!(std::fs::read_to_string(folder.join("plain")).unwrap(), SENTINEL);
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("mail.json")).unwrap()).unwrap();
    assert_eq!(json["smtp"], SENTINEL);
    let mail = home.service("cellar", "mail", "server");
    assert_eq!(mail.entry("SMTP").as_deref(), Some(SENTINEL));

    let secrets = [
        MARK.to_owned(),
        home.reveal("attic", "postgres.superuser"),
        home.reveal("cellar", "notes.db.password"),
        home.reveal("cellar", "notes.session"),
    ];
    let notes = home.service("cellar", "notes", "server");
    assert!(notes.entry("DATABASE_URL").unwrap().contains(&secrets[2]));
    assert_eq!(notes.entry("NOTES_SECRET").as_deref(), Some(&*secrets[3]));

    // Something that changes, and something that fails, before all is searched.
    home.edit("mesh.yaml", "Our notes", "Theirs");
    let said = ["plan", "plan --format json", "apply --yes --wait", "apply --yes --format json"];
    let told = said.map(|words| home.mesh(words).to_string());
    not_in_the_process_list(&home, &secrets);
    home.edit("modules/mail/module.yaml", "exec sleep infinity", "exit 3");
    let failed = home.mesh("apply --yes --wait --timeout 3").to_string();
    let commands = [
        "status",
        "status --format json",
        "needs",
        "needs --format json",
        "applied --format json",
        "collect --format json",
        "registry --format json",
        "secret list --format json",
        "logs",
        "plan",
    ];
    let told = told.into_iter().chain([failed]).chain(commands.map(|words| home.mesh(words).to_string()));
    for told in told {
        assert!(finds(told.as_bytes(), &secrets).is_none(), "a secret in: {told}");
    }
    not_in_the_buckets(&home, &secrets);
    only_in_files_that_are_meant_for_it(&home, &secrets);
    // What it kept for longer than it ran, too.
    home.down();
    only_in_files_that_are_meant_for_it(&home, &secrets);
}

/// Which secret some bytes hold, as it is or as the text that keeps bytes.
fn finds(bytes: &[u8], secrets: &[String]) -> Option<String> {
    use data_encoding::{BASE64_NOPAD, HEXLOWER};
    let is_in = |secret: &&String| {
        // Of base64 what does not depend on what stands around it.
        let shifted = (0..3).map(|shift| {
            let padded = [&b"___"[..shift], secret.as_bytes()].concat();
            let text = BASE64_NOPAD.encode(&padded);
            text[(shift * 8).div_ceil(6)..text.len() - 2].to_owned()
        });
        let mut spellings = shifted.chain([(*secret).clone(), HEXLOWER.encode(secret.as_bytes())]);
        spellings.any(|spelling| contains(bytes, spelling.as_bytes()))
    };
    secrets.iter().find(is_in).cloned()
}

fn not_in_the_buckets(home: &Home, secrets: &[String]) {
    let buckets = home.buckets();
    for bucket in [
        "mesh-provisioner_registry",
        "mesh-provisioner_needs",
        "mesh-provisioner_applied",
        "mesh-provisioner_collect",
        "mesh-controller_assignments",
        "mesh-controller_config",
        "mesh-controller_plan",
        "mesh-vault_credentials",
        "mesh-seats",
        "postgres_bound",
    ] {
        let whole = buckets.whole(bucket);
        assert!(!whole.is_empty(), "{bucket}");
        for (key, value) in whole {
            assert_eq!(finds(&value, secrets), None, "in {key} of {bucket}");
        }
    }
}

/// Arguments are for everybody to read; the environment is its user's, and no other process has it.
fn not_in_the_process_list(home: &Home, secrets: &[String]) {
    let meant: Vec<i32> =
        [("notes", "server"), ("mail", "server")].map(|(m, s)| home.service("cellar", m, s).pid).into();
    for process in processes::of_folder(home.dir()) {
        assert_eq!(finds(process.words.as_bytes(), secrets), None, "in the arguments of {process:?}");
        let environ = processes::read(process.pid, "environ");
        assert!(meant.contains(&process.pid) || finds(&environ, secrets).is_none(), "in that of {process:?}");
        if meant.contains(&process.pid) && rustix::process::geteuid().is_root() {
            assert_ne!(process.uid(), 0, "{process:?}");
        }
    }
}

fn only_in_files_that_are_meant_for_it(home: &Home, secrets: &[String]) {
    let nodes = home.state().join("nodes");
    let postgres = nodes.join("attic/modules/postgres");
    let owner = |folder: &str| postgres.join(folder).metadata().unwrap().uid();
    let server = owner("dirs/data");
    let meant: [PathBuf; 4] = [
        postgres.join("files/superuser-password"),
        postgres.join("files/consumers.json"),
        nodes.join("cellar/modules/mail/files/plain"),
        nodes.join("cellar/modules/mail/files/mail.json"),
    ];
    let mut found = BTreeSet::new();
    for (path, bytes) in files(home.dir()) {
        let Some(_) = finds(&bytes, secrets) else { continue };
        assert!(meant.contains(&path), "a secret in {}", path.display());
        let file = path.metadata().unwrap();
        assert_eq!(file.mode() & 0o7777, 0o600, "{}", path.display());
        let of_postgres = path.starts_with(&postgres);
        assert_eq!(file.uid() == server, of_postgres || server == 0, "whose is {}", path.display());
        found.insert(path);
    }
    assert_eq!(found, meant.into());
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // A server removes its own as it works.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let kind = entry.file_type().unwrap();
            match kind.is_dir() {
                true => folders.push(entry.path()),
                false => found.extend(std::fs::read(entry.path()).ok().map(|bytes| (entry.path(), bytes))),
            }
        }
    }
    found
}

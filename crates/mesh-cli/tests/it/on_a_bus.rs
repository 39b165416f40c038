//! The commands that ask the seats. No node runs here, so what is applied stays assigned.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::plane::Plane;
use crate::program::{Ran, fits, mesh, put, run};

const HOME: &str = "\
-- mesh.yaml --
mesh: home
nodes: {attic: {address: 127.0.0.1}}
assign: {notes: attic}
config: {notes: {title: Ours}}
-- modules/notes/module.yaml --
module: notes
config: {title: {default: Notes}}
secrets: {session: {}, smtp: {supplied: true}}
files:
  notes.toml: {content: 'title = ${config.title | toml}'}
run:
  server:
    exec: [notes, '${file.notes.toml}']
    env: {SMTP: '${secret.smtp}', SESSION: '${secret.session}'}
";

const SENTINEL: &str = "s3ntinel-$x${y}#'\"\\ é\nand a second line";

/// Runs the commands on a thread that may block, while the seats run on.
async fn on_a_bus(commands: impl FnOnce(&Plane) + Send + 'static) {
    let plane = Plane::start(HOME).await;
    let plane = tokio::task::spawn_blocking(move || {
        commands(&plane);
        plane
    });
    plane.await.unwrap().stop().await;
}

/// Runs a command until it says something.
fn until(folder: &Path, words: &str, is_so: impl Fn(&Ran) -> bool) -> Ran {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let ran = mesh(folder, words);
        if is_so(&ran) {
            return ran;
        }
        assert!(Instant::now() < end, "it does not come to be so: {ran}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_description_is_applied_once_and_shown_as_it_stands() {
    on_a_bus(|plane| {
        let home = plane.home.path();
        assert_eq!(mesh(home, "plan --exit-code").exit, 5);
        let ran = mesh(home, "apply --yes");
        assert_eq!(ran.exit, 0, "{ran}");
        assert!(ran.out.contains("notes@attic  add"), "{ran}");
        assert!(ran.err.contains("is in effect"), "{ran}");

        let ran = mesh(home, "plan --exit-code");
        assert_eq!(
            (ran.exit, ran.out.as_str()),
            (0, "nothing would change: 1 module stays as it is\n"),
            "{ran}"
        );
        let again = mesh(home, "apply --yes");
        assert!(again.exit == 0 && again.err.contains("nothing has changed"), "{again}");

        let status = mesh(home, "status");
        fits(&status.out);
        assert!(status.out.contains("attic  notes   assigned"), "{status}");
        let status = mesh(home, "status --wait --timeout 1 --format json");
        assert_eq!(status.exit, 4, "{status}");
        let document = status.json();
        assert_eq!(document["settled"], false);
        assert_eq!(document["nodes"][0]["modules"][0]["state"], "assigned");
        assert!(status.err.contains("not everything is applied after 1 seconds"), "{status}");

        put(&home.join("mesh.yaml"), &HOME_TITLED.replace("TITLE", "Theirs"));
        let ran = mesh(home, "plan --exit-code");
        assert_eq!(ran.exit, 5, "{ran}");
        assert!(ran.out.contains("title") && ran.out.contains("restarts server"), "{ran}");
        let ran = mesh(home, "apply --yes --wait --timeout 1");
        assert_eq!(ran.exit, 4, "{ran}");
    })
    .await;
}

const HOME_TITLED: &str = "\
mesh: home
nodes: {attic: {address: 127.0.0.1}}
assign: {notes: attic}
config: {notes: {title: TITLE}}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_description_changes_nothing() {
    on_a_bus(|plane| {
        let home = plane.home.path();
        put(&home.join("mesh.yaml"), &HOME_TITLED.replace("notes: attic", "notes: cellar"));
        let ran = mesh(home, "apply --yes");
        assert!(ran.exit == 1 && ran.err.contains("unknown-node"), "{ran}");
        let status = mesh(home, "status");
        assert!(status.out.contains("nothing is applied yet"), "{status}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_provisioner_answers_is_shown() {
    on_a_bus(|plane| {
        let home = plane.home.path();
        let registry = until(home, "registry", |ran| ran.out.contains("secret"));
        fits(&registry.out);
        insta::assert_snapshot!("registry", registry);
        let answer = mesh(home, "provisioning --format json").json();
        assert_eq!((&answer["what"], &answer["misshapen"]), (&"registry".into(), &serde_json::json!([])));
        let needs = mesh(home, "needs --node attic");
        assert_eq!((needs.exit, needs.out.as_str(), needs.err.as_str()), (0, "", "there is nothing\n"));
        let refused = mesh(home, "needs --collection motd");
        assert!(
            refused.exit == 1 && refused.err.contains("mesh-provisioner.provisioning refused"),
            "{refused}"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_supplied_secret_is_read_on_its_node_alone() {
    let plane = Plane::start(HOME).await;
    plane.join("attic").await;
    let plane = tokio::task::spawn_blocking(move || {
        let home = plane.home.path();
        let refused = run(home, &["secret", "set", "notes.smtp"], SENTINEL);
        assert!(
            refused.exit == 1 && refused.err.contains("nothing that is assigned"),
            "not declared yet: {refused}"
        );
        assert_eq!(mesh(home, "apply --yes").exit, 0);
        until(home, "secret list", |ran| ran.out.contains("secret.session"));
        let made = run(home, &["secret", "set", "notes.session"], SENTINEL);
        assert!(made.exit == 1 && made.err.contains("supplied: true"), "{made}");
        let empty = run(home, &["secret", "set", "notes.smtp"], "\n");
        assert!(empty.exit == 1 && empty.err.contains("empty"), "{empty}");

        let set = run(home, &["secret", "set", "notes.smtp"], &format!("{SENTINEL}\n"));
        assert_eq!((set.exit, set.err.as_str()), (0, "notes.smtp is set on attic: version 1\n"), "{set}");
        let list = mesh(home, "secret list");
        fits(&list.out);
        for told in
            [&set, &list, &mesh(home, "secret list --format json"), &mesh(home, "status --format json")]
        {
            assert!(!told.to_string().contains("s3ntinel"), "{told}");
        }

        let revealed = mesh(home, "secret reveal notes.smtp --node attic");
        assert_eq!((revealed.exit, revealed.out.as_str(), revealed.err.as_str()), (0, SENTINEL, ""));
        let made = mesh(home, "secret reveal notes.session --node attic");
        assert_eq!((made.exit, made.out.len()), (0, 32), "{made}");
        let elsewhere = mesh(home, "secret reveal notes.smtp --node cellar");
        assert!(elsewhere.exit == 1 && elsewhere.err.contains("is not the node cellar"), "{elsewhere}");
        let unknown = mesh(home, "secret reveal notes.sntp --node attic");
        assert!(unknown.exit == 1 && unknown.out.is_empty(), "{unknown}");
        plane
    });
    plane.await.unwrap().stop().await;
}

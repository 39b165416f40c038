//! A module that is taken out: let in no more, its data kept; and put back.

use std::time::{Duration, Instant};

use crate::quickstart::database::{Session, config, refused};
use crate::quickstart::home::Home;
use crate::quickstart::until;

#[test]
fn what_is_taken_out_is_let_in_no_more_and_its_data_stays() {
    let home = Home::quickstart();
    home.up();
    home.browser().write("kept while away");
    let notes = home.service("cellar", "notes", "server");
    let url = notes.entry("DATABASE_URL").unwrap();
    let session = Session::open(&url).unwrap();
    let [server, provisioner, _] = home.services();

    home.edit("mesh.yaml", "notes: cellar ", "# notes: cellar ");
    home.edit("mesh.yaml", "notes: {title: Our notes}", "{}");
    let ran = home.mesh("apply --yes");
    assert_eq!(ran.exit, 0, "{ran}");
    let accepted = Instant::now();
    until("its login is refused", || Session::open(&url).is_err().then_some(()));
    let took = accepted.elapsed();
    assert!(took < Duration::from_secs(3), "its login was good for {took:?}: {}", home.log());
    until("its session has ended", || session.ask("SELECT '1'").is_err().then_some(()));
    home.settle();
    let why = refused(&config(&url));
    assert!(["28000", "28P01"].contains(&why.code()), "{why:?}");
    assert!(!notes.runs());

    nothing_is_told_of_it(&home);
    assert!(!home.state().join("nodes/cellar/modules/notes/files").exists());
    let superuser = format!(
        "postgres://postgres:{}@127.0.0.1:{}/notes",
        home.reveal("attic", "postgres.superuser"),
        home.port("attic", "postgres", "sql")
    );
    let superuser = Session::open(&superuser).unwrap();
    assert_eq!(superuser.ask("SELECT body FROM notes").unwrap(), ["kept while away"]);
    let logins = superuser.ask("SELECT rolname::text FROM pg_roles WHERE rolcanlogin").unwrap();
    assert_eq!(logins, ["postgres"]);
    assert_eq!(home.service("attic", "postgres", "server"), server);
    assert_eq!(home.service("attic", "postgres", "provisioner"), provisioner);

    home.edit("mesh.yaml", "# notes: cellar ", "notes: cellar ");
    home.apply();
    let mut browser = home.browser();
    browser.well();
    assert!(browser.page().contains("kept while away"));
    browser.write("back again");
}

fn nothing_is_told_of_it(home: &Home) {
    let buckets = home.buckets();
    let of_it = |bucket: &str| -> Vec<String> {
        buckets.whole(bucket).into_keys().filter(|key| key.contains("notes")).collect()
    };
    for bucket in [
        "mesh-provisioner_needs",
        "mesh-provisioner_applied",
        "mesh-provisioner_collect",
        "mesh-controller_assignments",
        "mesh-controller_config",
        "postgres_bound",
    ] {
        until(&format!("nothing of notes is left in {bucket}: {:?}", of_it(bucket)), || {
            of_it(bucket).is_empty().then_some(())
        });
    }
}

//! What is killed comes back by itself, and nothing is made again.

use serde_json::Value;

use crate::quickstart::home::Home;
use crate::quickstart::processes;
use crate::quickstart::until;

/// All that must outlive whatever is killed.
#[derive(Debug, PartialEq)]
struct Lasting {
    /// Which secrets there are, by id.
    made: Value,
    /// The credentials that the services were started with, and the digests of what was rendered.
    applied: Vec<(Value, Value, Value)>,
    secrets: [String; 3],
}

impl Lasting {
    fn of(home: &Home) -> Self {
        let applied = ["postgres", "notes"].map(|module| home.applied(module));
        Self {
            made: home.json("secret list"),
            applied: applied
                .map(|a| (a["plan"].clone(), a["rendered"].clone(), a["credentials"].clone()))
                .into(),
            secrets: [
                home.reveal("attic", "postgres.superuser"),
                home.reveal("cellar", "notes.db.password"),
                home.reveal("cellar", "notes.session"),
            ],
        }
    }
}

#[test]
fn each_part_that_is_killed_is_up_again_and_nothing_is_made_again() {
    let home = Home::quickstart();
    home.up();
    let before = Lasting::of(&home);
    let mut browser = home.browser();
    browser.write("written before");
    let [server, provisioner, notes] = home.services();

    server.kill();
    until("PostgreSQL has ended", || (!server.runs()).then_some(()));
    browser.well();
    home.settle();
    let again = home.service("attic", "postgres", "server");
    assert_ne!(again, server);
    assert_eq!(home.module("attic", "postgres").unwrap()["services"]["server"]["restarts"], 1);
    browser.write("after PostgreSQL");

    provisioner.kill();
    until("the provisioner has ended", || (!provisioner.runs()).then_some(()));
    assert_ne!(home.service("attic", "postgres", "provisioner"), provisioner);
    home.settle();

    let nats = home.nats();
    nats.kill();
    until("nats-server has ended", || (!nats.runs()).then_some(()));
    assert_ne!(home.nats(), nats);
    until("the bus listens again", || (home.mesh("status").exit != 3).then_some(()));
    home.settle();
    // Nobody of those who live from it had to start again.
    assert_eq!(home.service("attic", "postgres", "server"), again);
    assert!(notes.runs(), "notes was started again: {}", home.log());

    // And everybody goes on.
    home.edit("mesh.yaml", "Our notes", "Still ours");
    home.apply();
    let mut browser = home.browser();
    browser.well();
    let page = browser.page();
    assert!(
        page.contains("Still ours") && page.contains("written before") && page.contains("after PostgreSQL")
    );
    home.edit("mesh.yaml", "Still ours", "Our notes");
    home.apply();
    assert_eq!(Lasting::of(&home), before);
}

#[test]
fn the_whole_that_is_killed_takes_its_services_with_it_and_comes_back_as_it_was() {
    let home = Home::quickstart();
    home.up();
    let before = Lasting::of(&home);
    home.browser().write("written before");
    let port = home.port("cellar", "notes", "http");

    home.itself().kill();
    until("everything has ended", || processes::of_folder(home.dir()).is_empty().then_some(()));
    home.up();
    assert_eq!(home.port("cellar", "notes", "http"), port);
    assert!(home.browser().page().contains("written before"));
    assert_eq!(Lasting::of(&home), before);

    // At once, while what it left behind is still ending.
    home.itself().kill();
    until("it has ended", || home.mesh("down").err.contains("nothing runs").then_some(()));
    home.up();
    assert!(home.browser().page().contains("written before"));
    assert_eq!(Lasting::of(&home), before);
}

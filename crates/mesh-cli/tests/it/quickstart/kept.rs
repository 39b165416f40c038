//! From nothing to everything applied, and what is still there the next time.

use crate::quickstart::home::Home;
use crate::quickstart::until;

#[test]
fn a_note_is_there_after_down_and_up_again() {
    let home = Home::quickstart();
    home.up();
    let status = home.json("status");
    assert_eq!(status["settled"], true, "{status}");
    let modules: Vec<_> =
        status["nodes"].as_array().unwrap().iter().flat_map(|n| n["modules"].as_array().unwrap()).collect();
    assert_eq!(modules.len(), 2, "{status}");
    for module in modules {
        assert_eq!(module["state"], "applied", "{status}");
        let services = module["services"].as_object().unwrap();
        assert!(
            !services.is_empty() && services.values().all(|service| service["state"] == "running"),
            "{status}"
        );
    }
    let mut browser = home.browser();
    assert!(browser.page().contains("<title>Our notes</title>"));
    browser.write("milk & bread, für morgen");

    // One mesh a folder: the second is told, and the first goes on.
    let second = home.try_up(&[]);
    assert!(second.exit == 1 && second.err.contains("mesh runs in"), "{second}");

    home.down();
    let down = home.mesh("down");
    assert!(down.exit == 0 && down.err.contains("nothing runs"), "{down}");
    assert_eq!(home.mesh("status").exit, 3);

    home.up();
    assert!(home.browser().page().contains("milk &amp; bread, für morgen"));
}

#[test]
fn a_description_that_could_not_work_starts_nothing() {
    let home = Home::quickstart();
    home.edit("mesh.yaml", "postgres: attic", "");
    let ran = home.try_up(&[]);
    assert!(ran.exit == 1 && ran.err.contains("no-provider"), "{ran}");
    assert!(!home.state().join("bus").exists());
}

#[test]
fn what_does_not_become_well_in_time_is_said_and_goes_on() {
    let home = Home::quickstart();
    home.edit("modules/notes/module.yaml", "/health\"", "/nowhere\"");
    let ran = home.try_up(&["--timeout", "6"]);
    assert!(ran.exit == 4 && ran.err.contains("mesh status"), "{ran}");
    until("it is told", || home.mesh("status").out.contains("/nowhere").then_some(()));
    home.edit("modules/notes/module.yaml", "/nowhere\"", "/health\"");
    home.apply();
    home.browser().well();
}

//! Two operators at once.

use std::sync::Barrier;

use crate::program::run;
use crate::quickstart::home::Home;

#[test]
fn of_two_who_apply_at_once_one_is_told_that_the_plan_has_moved_on() {
    let home = Home::quickstart();
    home.up();
    let other = tempfile::tempdir().unwrap();
    let copy = |title: &str| {
        let folder = other.path().join(title);
        std::fs::create_dir_all(folder.join("modules/notes")).unwrap();
        for file in ["mesh.yaml", "modules/notes/module.yaml"] {
            let text = std::fs::read_to_string(home.dir().join(file)).unwrap();
            crate::program::put(&folder.join(file), &text.replace("Our notes", title));
        }
        folder
    };
    let state = home.state();
    let mut raced = 0;
    // They may still come one after the other: then there was no race, and they try again.
    for round in 0..10 {
        let folders = [copy(&format!("One {round}")), copy(&format!("Two {round}"))];
        let gate = Barrier::new(2);
        let ran = std::thread::scope(|scope| {
            let racers = folders.each_ref().map(|folder| {
                let (gate, state) = (&gate, &state);
                scope.spawn(move || {
                    gate.wait();
                    run(folder, &["apply", "--yes", "--state", state.to_str().unwrap()], "")
                })
            });
            racers.map(|racer| racer.join().unwrap())
        });
        let done = ran.iter().filter(|ran| ran.exit == 0).count();
        assert!(done >= 1, "{}\n{}\n{}", ran[0], ran[1], home.log());
        for told in ran.iter().filter(|ran| ran.exit != 0) {
            assert!(told.exit == 1 && told.err.contains("moved on"), "{told}");
            raced += 1;
        }
        if raced > 0 {
            break;
        }
    }
    assert!(raced > 0, "never at once");
    home.settle();
    home.browser().well();
}

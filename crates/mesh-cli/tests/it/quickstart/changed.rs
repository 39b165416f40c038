//! What changes with the description, and what does not.

use crate::quickstart::home::Home;

#[test]
fn a_setting_changes_one_file_and_restarts_one_service() {
    let home = Home::quickstart();
    home.up();
    let file = home.state().join("nodes/cellar/modules/notes/files/notes.toml");
    let read = || std::fs::read_to_string(&file).unwrap();
    let [server, provisioner, notes] = home.services();
    let nats = home.nats();
    assert!(read().contains("title = \"Our notes\""), "{}", read());

    home.edit("mesh.yaml", "{title: Our notes}", "{title: 'Theirs, \"quoted\" $HOME é'}");
    let ran = home.apply();
    assert!(ran.out.contains("notes@cellar") && ran.out.contains("restarts server"), "{ran}");
    assert!(read().contains(r#"title = "Theirs, \"quoted\" $HOME é""#), "{}", read());
    let [server_now, provisioner_now, notes_now] = home.services();
    assert_ne!(notes_now, notes);
    assert_eq!((server_now, provisioner_now, home.nats()), (server.clone(), provisioner.clone(), nats));
    assert!(home.browser().page().contains("Theirs, &quot;quoted&quot; $HOME é"));

    let revisions = || {
        let buckets = home.buckets();
        ["mesh-controller_assignments", "mesh-controller_config"]
            .map(|bucket| buckets.revision(bucket, "cellar.notes"))
    };
    let (plan, others) = (home.buckets().revision("mesh-controller_plan", "current"), revisions());
    let again = home.apply();
    assert!(again.err.contains("nothing has changed"), "{again}");
    assert_eq!(home.buckets().revision("mesh-controller_plan", "current"), plan);
    // The same in other words.
    home.edit("mesh.yaml", "mesh: quickstart", "# A word more.\n\nmesh:   'quickstart'");
    home.apply();
    assert_eq!(revisions(), others);
    home.edit("modules/notes/module.yaml", "  session: {length: 48} ", "  session:\n    length:  48\n  ");
    home.apply();
    assert_eq!(home.services(), [server, provisioner, notes_now]);
}

//! The quickstart: a database on one node, its consumer on another, both on this machine.

use std::path::Path;

use mesh_model::wire::{Give, Timestamp};
use mesh_plan::diff::{Kind, diff};
use mesh_plan::{Catalog, Content, Description, Facts, Outcome, Plan, plan, shipped};

use crate::case::shown;

fn description(edit: impl Fn(&str, String) -> String) -> Description {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart");
    let mut description = Description::default();
    for path in ["mesh.yaml", "modules/notes/module.yaml"] {
        let text = edit(path, std::fs::read_to_string(folder.join(path)).unwrap());
        description.insert(path, text.as_bytes());
    }
    description.add_shipped(&shipped());
    description
}

fn planned(description: &Description, previous: Option<&Plan>, facts: &Facts) -> Plan {
    let at = Timestamp::try_from("2026-12-01T09:00:00Z".to_owned()).unwrap();
    let previous = previous.map(|plan| plan.record("ada", at));
    let outcome = plan(description, &shipped(), previous.as_ref(), facts);
    told_nothing(&outcome);
    outcome.plan.unwrap()
}

fn told_nothing(outcome: &Outcome) {
    assert!(outcome.refusals.is_empty(), "{}", shown(&outcome.refusals));
    assert!(outcome.warnings.is_empty(), "{}", shown(&outcome.warnings));
}

fn same(_: &str, text: String) -> String {
    text
}

#[test]
fn it_plans() {
    let facts = Facts { held: [("127.0.0.1".to_owned(), [20000].into())].into(), ..Facts::default() };
    let made = planned(&description(same), None, &facts);
    let at = |at: &str| made.assignments.iter().find(|(key, _)| key.at() == at).unwrap().1;
    let (postgres, notes) = (at("postgres@attic"), at("notes@cellar"));
    assert_eq!(notes.folder, "/var/lib/mesh/modules/notes");
    // 20000 is held, and the two nodes share an address.
    assert_eq!((postgres.ports["sql"], notes.ports["http"]), (20001, 20002));
    let [need] = &notes.needs[..] else { panic!("one need") };
    let [consumer] = &postgres.consumers[..] else { panic!("one consumer") };
    assert_eq!(need.revision, consumer.revision);
    assert_eq!(need.contribution["name"], "notes");
    assert!(matches!(&need.gives["url"], Give::From { secret: true, .. }));
    assert_eq!(
        postgres.provides["postgres-database"].answers,
        "/var/lib/mesh/modules/postgres/dirs/answers/postgres-database.json"
    );
    let mut again = notes.clone();
    assert_eq!(again.note_digest(), serde_json::to_vec(notes).unwrap().len() as u64);
    assert_eq!(again, *notes);
    let file = &notes.files["notes.toml"];
    assert!(
        matches!(&made.contents[&file.digest], Content::Inline(bytes) if bytes.len() as u64 == file.size)
    );
    assert_eq!(postgres.run["server"].stop_signal.as_deref(), Some("SIGINT"));
}

#[test]
fn planning_again_changes_nothing_and_keeps_ports() {
    let first = planned(&description(same), None, &Facts::default());
    let all = diff(&Default::default(), &Default::default(), &first);
    assert!(all.iter().all(|change| change.change == Kind::Add));
    // What the mesh itself holds by now is held by nobody else.
    let second = planned(&description(same), Some(&first), &Facts::default());
    assert_eq!(second.id, first.id);
    assert_eq!(second.assignments, first.assignments);
    let changes = diff(&first.assignments, &first.settings, &second);
    assert!(changes.iter().all(|change| change.change == Kind::None && change.why.is_empty()), "{changes:?}");
}

#[test]
fn a_setting_touches_the_file_that_reads_it_and_its_service() {
    let first = planned(&description(same), None, &Facts::default());
    let edited = description(|_, text| text.replace("Our notes", "Their notes"));
    let second = planned(&edited, Some(&first), &Facts::default());
    let changes = diff(&first.assignments, &first.settings, &second);
    let said = serde_json::to_value(&changes).unwrap();
    let expected = serde_json::json!([
        {"node": "attic", "module": "postgres", "change": "none", "why": []},
        {"node": "cellar", "module": "notes", "change": "change", "why": ["the setting `title` changes"],
         "services": {"server": "restart"}, "credentials": {"db": "kept", "secret.session": "kept"}},
    ]);
    assert_eq!(said, expected);
}

#[test]
fn who_is_taken_out_leaves_its_data_behind() {
    let first = planned(&description(same), None, &Facts::default());
    // Without its line in `assign` and all that is said of it below; its folder may stay, but is told to be idle.
    let mut edited = description(|path, text| match path {
        "mesh.yaml" => text.split("  notes:").next().unwrap().to_owned(),
        _ => text,
    });
    edited.files.remove("modules/notes/module.yaml");
    let outcome = plan(&edited, &Catalog::default(), None, &Facts::default());
    told_nothing(&outcome);
    let changes = diff(&first.assignments, &first.settings, &outcome.plan.unwrap());
    let notes = changes.iter().find(|change| change.module.as_str() == "notes").unwrap();
    assert_eq!(notes.change, Kind::Remove);
    assert_eq!(notes.stays, ["the postgres-database of `db` at postgres@attic"]);
    let postgres = changes.iter().find(|change| change.module.as_str() == "postgres").unwrap();
    assert!(postgres.why.contains(&"the consumer `db of notes@cellar` is gone".to_owned()), "{postgres:?}");
}

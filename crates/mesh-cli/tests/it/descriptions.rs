//! `mesh check`, `mesh plan` and `mesh modules`, without a bus.

mod against;
mod graph;
mod new;

use crate::program::{fits, folder, mesh};

const HOME: &str = "\
-- mesh.yaml --
mesh: home
nodes: {attic: {address: 127.0.0.1}, cellar: {address: 127.0.0.1}}
assign: {postgres: attic, notes: [attic, cellar]}
-- modules/notes/module.yaml --
module: notes
secrets: {session: {}, smtp: {supplied: true}}
ports: {http: auto}
needs: {db: {provision: postgres-database}}
files: {notes.toml: {content: 'smtp = ${secret.smtp | toml}'}}
run:
  server:
    exec: [notes, '${file.notes.toml}', '${port.http}']
    env: {DATABASE_URL: '${bound.db.url}', SESSION: '${secret.session}'}
";

#[test]
fn what_could_work_is_accepted() {
    let home = folder(HOME);
    insta::assert_snapshot!(mesh(home.path(), "check"), @r"
    home is in order: 3 modules on 2 nodes
    exit 0
    ");
}

#[test]
fn a_plan_says_what_would_change_and_why() {
    let home = folder(HOME);
    let ran = mesh(home.path(), "plan");
    fits(&ran.out);
    insta::assert_snapshot!(ran, @r"
    MODULE          CHANGE  WHY
    notes@attic     add     `notes` is assigned to `attic`
                            ports: http 20000
                            starts server
                            makes db, secret.session
                            waits for `mesh secret set notes.smtp`
    postgres@attic  add     `postgres` is assigned to `attic`
                            ports: sql 20001
                            starts provisioner, server
                            makes secret.superuser
    notes@cellar    add     `notes` is assigned to `cellar`
                            ports: http 20002
                            starts server
                            makes db, secret.session
                            waits for `mesh secret set notes.smtp`
    exit 0
    ");
    assert_eq!(mesh(home.path(), "plan --exit-code").exit, 5);
    assert_eq!(mesh(home.path(), "plan --format json --exit-code").exit, 5);
}

#[test]
fn a_plan_is_the_document_of_the_contract() {
    let home = folder(HOME);
    let ran = mesh(home.path(), "plan --format json");
    assert_eq!((ran.exit, ran.err.as_str()), (0, ""));
    let plan = ran.json();
    assert_eq!(plan["mesh"], "home");
    assert_eq!(plan["ok"], true);
    assert_eq!(plan["changes"][0]["change"], "add");
    let notes = plan["assignments"].as_array().unwrap().iter().find(|a| a["module"] == "notes").unwrap();
    let need = &notes["needs"][0];
    let from = serde_json::json!({"module": "postgres", "node": "attic"});
    assert_eq!((&need["kind"], &need["name"], &need["from"]), (&"bound".into(), &"db".into(), &from));
}

#[test]
fn what_could_never_work_is_refused_with_its_place_and_the_way_out() {
    let home = folder(&HOME.replace("postgres: attic, ", ""));
    for command in ["check", "plan", "plan --exit-code"] {
        let ran = mesh(home.path(), command);
        fits(&ran.err);
        assert_eq!((ran.exit, ran.out.as_str()), (1, ""), "{ran}");
    }
    insta::assert_snapshot!(mesh(home.path(), "check"), @r"
    2> refused[no-provider]: nothing on the mesh provides `postgres-database`, which
    2>                       `notes` needs as `db`
    2>  --> modules/notes/module.yaml:4:9
    2>   |
    2> 4 | needs: {db: {provision: postgres-database}}
    2>   |         ^^
    2>   |
    2>   = help: `postgres` ships with mesh and provides it: add to `assign`:
    2>           `postgres: attic`; no module that runs provides anything
    2>
    2> error: the description is refused: 1 thing in it could never work
    2> help: `mesh explain CODE` says more of each
    exit 1
    ");
    let ran = mesh(home.path(), "plan --format json");
    let plan = ran.json();
    assert_eq!((ran.exit, &plan["ok"]), (1, &false.into()));
    assert_eq!(plan["refusals"][0]["code"], "no-provider");
    assert_eq!(plan["refusals"][0]["line"], 4);
}

#[test]
fn what_ran_once_and_is_gone_does_not_keep_from_planning() {
    let home = folder(&format!(
        "{HOME}-- .mesh/bus.json --\n{{\"v\":1,\"urls\":[\"nats://127.0.0.1:1\"],\"creds\":\"none\"}}\n"
    ));
    // Its credentials are gone too: that is no reason to plan as if it had never run.
    assert_eq!(mesh(home.path(), "plan").exit, 3);
}

#[test]
fn a_shipped_manifest_is_one_to_start_from() {
    let nowhere = folder("");
    let ran = mesh(nowhere.path(), "modules");
    assert!(ran.out.contains("postgres"), "{ran}");
    let manifest = mesh(nowhere.path(), "modules show postgres").done();
    assert!(manifest.starts_with("module: postgres\n"), "{manifest}");
    let listed = mesh(nowhere.path(), "modules --format json").json();
    let names: Vec<&str> =
        listed["modules"].as_array().unwrap().iter().filter_map(|told| told["module"].as_str()).collect();
    assert_eq!(names, ["object-store", "postgres", "reverse-proxy"]);
}

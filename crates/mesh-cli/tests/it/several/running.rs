//! A mesh on several machines comes up, and each of its processes may stop and come back.

use std::path::Path;

use super::site::Site;
use crate::quickstart::{home, processes, until};

/// The quickstart, with its two machines at two addresses.
fn quickstart() -> Site {
    home::build_what_is_missing();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart");
    let notes = std::fs::read_to_string(example.join("modules/notes/module.yaml")).unwrap();
    let mesh = "mesh: home\nnodes:\n  attic: {address: 127.0.0.1}\n  cellar: {address: 127.0.0.2, ports: 21000-21999}\n\
                assign:\n  postgres: attic\n  notes: cellar\n";
    Site::new(&[("mesh.yaml", mesh), ("modules/notes/module.yaml", &notes)])
}

#[test]
fn a_database_on_one_machine_and_what_uses_it_on_another() {
    let site = quickstart();
    let server = site.serve();
    let nodes = ["attic", "cellar"].map(|node| {
        site.bring_in(node);
        site.run(node)
    });
    let ran = site.mesh("apply --yes --wait --timeout 120");
    assert_eq!(ran.exit, 0, "{ran}\n{}\n{}", nodes[0].said(), nodes[1].said());
    let status = site.mesh("status --format json").json();
    assert_eq!(status["nodes"][1]["modules"][0]["state"], "applied", "{status}");

    // Nothing of it is in the open: each connection of a node, of a seat and of an operator is by TLS.
    let config = std::fs::read_to_string(site.server_state().join("bus/nats-server.conf")).unwrap();
    assert!(config.contains("tls {"), "{config}");

    // The server stops and comes back, and the machines are found again.
    server.stop();
    let server = site.serve();
    until("the mesh is well again", || (site.mesh("status --wait --timeout 5").exit == 0).then_some(()));

    let [attic, cellar] = nodes;
    cellar.stop();
    attic.stop();
    server.stop();
    let left = processes::of_folder(site.root());
    assert!(left.is_empty(), "{left:?}");
}

//! `mesh up` on one host: it needs nothing of the machine but itself, and is asked from there alone.

use std::net::TcpStream;

use crate::home::Home;

#[test]
fn all_of_it_runs_on_one_host_and_ends_with_it() {
    let Some(home) = Home::quickstart() else { return };
    let [attic, cellar] = ["attic", "cellar"].map(|name| home.network.host(name).unwrap());
    home.edit("mesh.yaml", "127.0.0.1", attic.address());
    let state = attic.folder().join("state");
    let mesh = |words: &str| {
        let words = format!("{words} --state {}", state.display());
        attic.run(home.programs.mesh(&home.dir(), &words), "")
    };
    let ran = mesh("up --detach --timeout 120");
    assert_eq!(ran.exit, 0, "{ran}");
    let status = mesh("status --format json");
    assert_eq!(status.exit, 0, "{status}");
    let status: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!(status["settled"], true, "{status}");

    // PostgreSQL is reached by its host's address, the bus of `mesh up` by nobody but the host.
    let of = |node: usize, module: usize| &status["nodes"][node]["modules"][module]["ports"];
    let port = u16::try_from(of(0, 0)["sql"].as_u64().unwrap()).unwrap();
    cellar.within(|| TcpStream::connect((attic.address(), port))).unwrap();
    let bus = std::fs::read_to_string(state.join("bus.json")).unwrap();
    let elsewhere = home.programs.mesh(&home.dir(), &format!("status --state {}", state.display()));
    let elsewhere = cellar.run(elsewhere, "");
    assert_eq!(elsewhere.exit, 3, "{bus}: {elsewhere}");

    attic.power_cut();
    let ran = mesh("up --detach --timeout 120");
    assert_eq!(ran.exit, 0, "{ran}");
    let ran = mesh("down");
    assert_eq!(ran.exit, 0, "{ran}");
    assert_eq!(attic.processes(), []);
}

//! What is a claim, and what is said of one that is none.

use serde_json::json;

use super::*;

fn read(contribution: serde_json::Value, machine: serde_json::Value) -> Result<Claim, String> {
    let consumer: Consumer = serde_json::from_value(json!({
        "node": "cellar", "module": "notes", "local": "web", "machine": machine,
        "contribution": contribution, "revision": "1",
    }))
    .unwrap();
    Claim::read(&consumer, &"attic".parse().unwrap()).map_err(|error| error.to_string())
}

fn cellar() -> serde_json::Value {
    json!({"name": "cellar", "address": "192.168.1.11"})
}

#[test]
fn a_target_is_on_the_machine_that_the_contribution_carries() {
    let claim = read(json!({"name": "Notes.example.org", "port": "8080"}), cellar()).unwrap();
    assert_eq!(claim.name.as_str(), "notes.example.org");
    assert!(claim.path.is_root());
    assert_eq!(claim.target.to_string(), "notes@cellar at 192.168.1.11:8080");
    assert_eq!(claim.target.scheme, Scheme::Http);
}

#[test]
fn on_the_same_machine_it_is_at_loopback() {
    let here = json!({"name": "attic", "address": "192.168.1.10"});
    let claim = read(json!({"name": "a", "port": 80}), here.clone()).unwrap();
    assert_eq!(claim.target.address.to_string(), "127.0.0.1");
    let without = json!({"name": "attic"});
    assert_eq!(read(json!({"name": "a", "port": 80}), without), Ok(claim));
}

#[test]
fn an_address_is_a_number_or_a_name() {
    for (address, shown) in
        [("fd00::1", "[fd00::1]"), ("[fd00::1]", "[fd00::1]"), ("cellar.lan", "cellar.lan")]
    {
        let machine = json!({"name": "cellar", "address": address});
        let claim = read(json!({"name": "a", "port": 80}), machine).unwrap();
        assert_eq!(claim.target.address.to_string(), shown);
    }
}

#[test]
fn what_is_no_claim_says_why() {
    let cases = [
        (json!({"port": 80}), "the contribution has no `name`"),
        (json!({"name": ["a"], "port": 80}), "the contribution has no `name`"),
        (json!({"name": "a"}), "the contribution has no `port`"),
        (
            json!({"name": "a b", "port": 80}),
            "`a b` is no host name: it has a character that a host name does not have",
        ),
        (
            json!({"name": "a", "path": "x", "port": 80}),
            "`x` is no path of a route: it does not begin with `/`",
        ),
        (json!({"name": "a", "port": 0}), "`0` is no port: a number from 1 to 65535 is"),
        (json!({"name": "a", "port": "http"}), "`http` is no port: a number from 1 to 65535 is"),
        (
            json!({"name": "a", "port": 80, "scheme": "ftp"}),
            "`ftp` is no scheme of a target: `http`, `https` and `h2c` are",
        ),
    ];
    for (contribution, why) in cases {
        assert_eq!(read(contribution, cellar()).unwrap_err(), why);
    }
    let why = read(json!({"name": "a", "port": 80}), json!({"name": "cellar"})).unwrap_err();
    assert_eq!(why, "its machine `cellar` has no address: give it one in mesh.yaml");
}

//! What a module needs, by the command and by a client that knows nothing of us.

use serde_json::{Value, json};

use crate::quickstart::home::Home;

#[test]
fn each_need_is_told_with_whom_it_is_from() {
    let home = Home::quickstart();
    home.up();
    let told = home.json("needs --node cellar");
    let entries = told["entries"].as_array().unwrap();
    let need = |kind: &str, name: &str| {
        let found = entries.iter().find(|need| need["kind"] == kind && need["name"] == name);
        found.unwrap_or_else(|| panic!("no {kind} {name}: {told}")).clone()
    };
    assert!(entries.iter().all(|need| need["state"] == "met" && need["node"] == "cellar"), "{told}");
    let db = need("bound", "db");
    assert_eq!((&db["owner"], &db["from"]), (&"postgres".into(), &"attic".into()), "{told}");
    assert_eq!(need("secret", "session")["owner"], "mesh-vault");
    assert_eq!(need("config", "title")["owner"], "mesh-controller");
    for (kind, name) in [("port", "http"), ("file", "notes.toml")] {
        assert_eq!(need(kind, name)["owner"], "mesh-controller", "{kind} {name}");
    }
    assert_eq!(told["misshapen"], json!([]));

    let (asked, pinged) = tokio::runtime::Runtime::new().unwrap().block_on(ask(&home));
    assert_eq!(asked, told);
    let mut names: Vec<&str> = pinged.iter().map(|pong| pong["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["mesh-controller", "mesh-provisioner", "mesh-vault"], "{pinged:?}");
}

/// As any NATS client does: the credentials file, a subject, JSON.
async fn ask(home: &Home) -> (Value, Vec<Value>) {
    use futures_util::StreamExt;
    let creds = home.state().join("operator.creds");
    let options = async_nats::ConnectOptions::new().credentials_file(creds).await.unwrap();
    let client = options.connect(home.url()).await.unwrap();
    let question = json!({"what": "needs", "node": "cellar"}).to_string();
    let answer = client.request("mesh-provisioner.provisioning", question.into()).await.unwrap();

    let inbox = client.new_inbox();
    let mut pongs = client.subscribe(inbox.clone()).await.unwrap();
    client.publish_with_reply("$SRV.PING", inbox, "".into()).await.unwrap();
    let mut pinged = Vec::new();
    while pinged.len() < 3 {
        let pong = tokio::time::timeout(super::PATIENCE, pongs.next()).await.expect("each answers").unwrap();
        pinged.push(serde_json::from_slice(&pong.payload).unwrap());
    }
    (serde_json::from_slice(&answer.payload).unwrap(), pinged)
}

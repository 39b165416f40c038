//! Pages, filters, and everything that is told instead of dropped.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

type Entries = BTreeMap<String, Vec<u8>>;

fn ask(text: Value) -> ProvisioningAsk {
    serde_json::from_value(text).unwrap()
}

fn answer(entries: &Entries, question: Value) -> Result<ProvisioningAnswer, VerbError> {
    select(entries.iter().map(|(key, value)| (key.as_str(), value.as_slice())), &ask(question))
}

fn need(node: &str, module: &str, name: &str) -> (String, Vec<u8>) {
    let value = json!({"v": 1, "node": node, "module": module, "kind": "config", "name": name, "state": "met",
        "owner": "mesh-controller", "since": "2026-12-01T09:00:00Z", "more": 1});
    (format!("{node}.{module}.config.{name}"), value.to_string().into_bytes())
}

fn needs() -> Entries {
    [
        need("attic", "notes", "a"),
        need("attic", "notes", "b"),
        need("attic", "wiki", "c"),
        need("cellar", "notes", "d"),
    ]
    .into()
}

fn item(node: &str, token: &str, collection: &str, contributor: &str) -> (String, Vec<u8>) {
    let value =
        json!({"v": 1, "node": node, "collection": collection, "contributor": contributor, "items": ["x"]});
    (format!("{node}.{token}.{contributor}"), value.to_string().into_bytes())
}

fn names(answer: &ProvisioningAnswer) -> String {
    answer.entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[test]
fn filters_narrow() {
    let cases = [
        (json!({"what": "needs"}), "abcd"),
        (json!({"what": "needs", "node": "attic"}), "abc"),
        (json!({"what": "needs", "module": "notes"}), "abd"),
        (json!({"what": "needs", "node": "attic", "module": "wiki"}), "c"),
        (json!({"what": "needs", "node": "shed"}), ""),
    ];
    for (question, want) in cases {
        assert_eq!(names(&answer(&needs(), question.clone()).unwrap()), want, "{question}");
    }
}

#[test]
fn a_collection_is_asked_for_by_its_name() {
    let entries: Entries = [
        item("attic", "shell=3Azsh=3Anormal", "shell:zsh:normal", "notes"),
        item("attic", "motd", "motd", "notes"),
        item("attic", "motd", "motd", "wiki"),
    ]
    .into();
    let of = |question| answer(&entries, question).unwrap().entries.len();
    assert_eq!(of(json!({"what": "collect", "collection": "shell:zsh:normal"})), 1);
    assert_eq!(of(json!({"what": "collect", "collection": "motd"})), 2);
    assert_eq!(of(json!({"what": "collect", "collection": "motd", "module": "wiki"})), 1);
}

#[test]
fn a_value_keeps_the_fields_that_we_do_not_know() {
    assert_eq!(answer(&needs(), json!({"what": "needs"})).unwrap().entries[0]["more"], 1);
}

#[test]
fn pages_join_to_the_whole() {
    for limit in 1..=5 {
        let (mut all, mut after) = (String::new(), None);
        loop {
            let mut question = json!({"what": "needs", "limit": limit});
            if let Some(after) = after {
                question["after"] = after;
            }
            let page = answer(&needs(), question).unwrap();
            assert!(page.entries.len() <= limit);
            all.push_str(&names(&page));
            let Some(next) = page.next else { break };
            after = Some(json!(next));
        }
        assert_eq!(all, "abcd");
    }
}

#[test]
fn a_page_ends_before_it_is_too_long_for_the_bus() {
    let long = "x".repeat(300 * 1024);
    let entries: Entries = (0..4)
        .map(|i| {
            let (key, value) = need("attic", "notes", &format!("n{i}"));
            let mut value: Value = serde_json::from_slice(&value).unwrap();
            value["why"] = json!(long);
            (key, value.to_string().into_bytes())
        })
        .collect();
    let page = answer(&entries, json!({"what": "needs"})).unwrap();
    assert_eq!((page.entries.len(), page.next.as_deref()), (1, Some("attic.notes.config.n0")));
    assert!(serde_json::to_vec(&page).unwrap().len() < mesh_bus::verb::MAX_ANSWER);
}

#[test]
fn what_is_not_as_it_should_be_is_told() {
    let mut entries = needs();
    entries.insert("attic.notes".to_owned(), b"{}".to_vec());
    entries.insert("attic.notes.config.e".to_owned(), b"{\"v\":1".to_vec());
    entries.insert("attic.notes.weather.e".to_owned(), b"{}".to_vec());
    entries.insert("attic.notes.config.f".to_owned(), b"{\"v\":1}".to_vec());
    entries.insert("attic.notes.config.g".to_owned(), entries["cellar.notes.config.d"].clone());
    entries.insert("attic.notes.config.=61".to_owned(), b"{}".to_vec());
    let page = answer(&entries, json!({"what": "needs"})).unwrap();
    assert_eq!(names(&page), "abcd");
    let told: Vec<(&str, &str)> = page.misshapen.iter().map(|m| (m.key.as_str(), m.why.as_str())).collect();
    let want = [
        (
            "attic.notes",
            "the key is out of shape: it has 2 parts, where a key of this bucket is <node>.<module>.<kind>.<name>",
        ),
        (
            "attic.notes.config.=61",
            "the key is out of shape: the token `=61` is not the one spelling of a text",
        ),
        ("attic.notes.config.e", "the value is not JSON: EOF while parsing an object at line 1 column 6"),
        ("attic.notes.config.f", "the value is not what its bucket holds: missing field `node`"),
        ("attic.notes.config.g", "the value is about something else than its key"),
        ("attic.notes.weather.e", "the key is out of shape: `weather` is not a kind"),
    ];
    assert_eq!(told, want);
    assert!(page.misshapen.iter().all(|m| m.bucket == "mesh-provisioner_needs"));
    let narrowed = answer(&entries, json!({"what": "needs", "node": "cellar"})).unwrap();
    assert_eq!(narrowed.misshapen.len(), 3, "those out of shape belong to no node");
}

#[test]
fn the_registry_holds_for_every_node() {
    let entries: Entries = crate::registry::table()
        .into_iter()
        .map(|r| (r.kind.to_string(), serde_json::to_vec(&r).unwrap()))
        .collect();
    let all = crate::registry::table().len();
    assert_eq!(answer(&entries, json!({})).unwrap().entries.len(), all);
    assert_eq!(answer(&entries, json!({"node": "attic", "module": "notes"})).unwrap().entries.len(), all);
}

#[test]
fn questions_that_make_no_sense_are_refused() {
    for question in
        [json!({"what": "needs", "collection": "motd"}), json!({"limit": 0}), json!({"limit": 1001})]
    {
        assert_eq!(answer(&needs(), question).unwrap_err().code, "bad-request");
    }
    let unknown = serde_json::from_value::<ProvisioningAsk>(json!({"what": "weather"})).unwrap_err();
    assert_eq!(unknown.to_string(), "`weather` is none of `registry`, `needs`, `applied` and `collect`");
}

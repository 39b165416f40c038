//! Who is answered what, and who is refused.

use std::sync::Arc;
use std::time::Instant;

use mesh_seal::{Expect, Fields, SealingKey, Secret, SigningKey, SystemRandom, seal};

use super::*;
use crate::fixture::{Machines, database, key, node, quickstart};
use crate::rules::Wanted;
use crate::store::MemoryStore;

/// A vault that has looked once, with both machines joined.
fn vault(wanted: &Wanted) -> (Vault, Machines) {
    let signing = SigningKey::generate(&mut SystemRandom).unwrap();
    let vault = Vault::new("home".parse().unwrap(), signing, Arc::new(MemoryStore::default()));
    let machines = Machines::new(&["attic", "cellar"]);
    for (node, key) in machines.pins() {
        vault.pin(&node, &key).unwrap();
    }
    vault.look(|_| wanted.clone(), &|_| None, Instant::now()).unwrap();
    (vault, machines)
}

fn ask_secret(module: &str, name: &str) -> SecretAsk {
    SecretAsk { module: module.parse().unwrap(), name: name.to_owned() }
}

fn ask_consumers(module: &str, provision: &str, after: Option<String>) -> ConsumersAsk {
    ConsumersAsk { module: module.parse().unwrap(), provision: provision.parse().unwrap(), after }
}

fn ask_put(name: &str, recipient: &Recipient, plain: &[u8]) -> PutAsk<Recipient, Ciphertext> {
    let (node, module, name) = (node("cellar"), "notes".parse().unwrap(), name.parse().unwrap());
    let (recipient, ciphertext) = (recipient.clone(), seal(recipient, plain).unwrap());
    PutAsk { node, module, name, recipient, ciphertext, id: None, escrow: Default::default() }
}

#[test]
fn the_consumer_and_the_provider_are_answered_with_the_same_credential_sealed_to_each() {
    let (vault, machines) = vault(&quickstart());
    let own = secret(&vault, &node("cellar"), ask_secret("notes", "db")).unwrap();
    let theirs =
        consumers(&vault, &node("attic"), &ask_consumers("postgres", "postgres-database", None)).unwrap();
    let [theirs] = &theirs.entries[..] else { panic!("one consumer") };
    assert_eq!(
        (theirs.node.as_str(), theirs.module.as_str(), theirs.local.as_str()),
        ("cellar", "notes", "db")
    );
    let open = |one: &Delivered<Sealed>, on: &str| {
        let expect =
            Expect { mesh: "home", node: on, owner: "cellar.notes", name: "db", at_least_version: 1 };
        let plain = one.sealed.open(machines.of(on), &vault.verifying(), &expect).unwrap();
        Fields::decode(&plain).unwrap().get("password").unwrap().expose().to_vec()
    };
    assert_eq!(open(&own.credentials[0], "cellar"), open(&theirs.credentials[0], "attic"));
    assert_eq!(own.credentials[0].id, theirs.credentials[0].id);
}

#[test]
fn nobody_is_answered_with_what_is_anothers() {
    let (vault, _) = vault(&quickstart());
    let asked = |on: &str, module, name| secret(&vault, &node(on), ask_secret(module, name)).unwrap();
    // The provider asks under its own name, where there is no such module, and a stranger anywhere.
    for (on, module, name) in
        [("attic", "notes", "db"), ("shed", "notes", "db"), ("cellar", "postgres", "secret.superuser")]
    {
        let answer = asked(on, module, name);
        assert!(answer.credentials.is_empty());
        assert!(answer.why.unwrap().contains("does not know yet"));
    }
    for (on, module, provision) in [
        ("cellar", "postgres", "postgres-database"),
        ("attic", "notes", "postgres-database"),
        ("attic", "postgres", "route"),
    ] {
        let answer = consumers(&vault, &node(on), &ask_consumers(module, provision, None)).unwrap();
        assert!(answer.entries.is_empty(), "{on} {module} {provision}");
    }
}

#[test]
fn what_waits_says_why() {
    let (vault, _) = vault(&quickstart());
    let answer = secret(&vault, &node("cellar"), ask_secret("notes", "secret.smtp")).unwrap();
    assert!(answer.credentials.is_empty());
    assert!(answer.why.unwrap().contains("mesh secret set notes.smtp"));
    let refused = secret(&vault, &node("cellar"), ask_secret("notes", "No Name")).unwrap_err();
    assert_eq!(refused.code, "bad-request");
}

#[test]
fn the_first_key_is_pinned_and_another_refused_by_name() {
    let (vault, machines) = vault(&quickstart());
    let same = PinAsk { recipient: machines.of("attic").public() };
    assert_eq!(pin(&vault, &node("attic"), &same).unwrap().verifying, vault.verifying());
    let another = PinAsk { recipient: SealingKey::generate().public() };
    let refused = pin(&vault, &node("attic"), &another).unwrap_err();
    assert_eq!(refused.code, "another-key");
    assert!(refused.message.contains("attic") && refused.message.contains(&same.recipient.to_string()));
    assert!(refused.help.contains("rekey") && refused.help.contains("remove"));
    assert!(pin(&vault, &node("shed"), &another).is_ok());
}

#[test]
fn long_answers_come_in_pages_that_together_are_all() {
    let many = (0..500)
        .map(|n| (key(&format!("cellar.notes-{n}.db")), database("postgres", "attic", &["password"])));
    let (vault, _) = vault(&Wanted { entries: many.collect(), ..Wanted::default() });
    let (mut seen, mut pages, mut after) = (vec![], 0, None);
    loop {
        let ask = ask_consumers("postgres", "postgres-database", after);
        let page = consumers(&vault, &node("attic"), &ask).unwrap();
        assert!(serde_json::to_vec(&page).unwrap().len() < mesh_bus::verb::MAX_ANSWER / 2);
        seen.extend(page.entries.into_iter().map(|entry| entry.module.to_string()));
        pages += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert!(pages > 1);
    let mut expected: Vec<_> = (0..500).map(|n| format!("notes-{n}")).collect();
    expected.sort();
    assert_eq!(seen, expected);

    let first = list(&vault, &ListAsk::default()).unwrap();
    let rest = list(&vault, &ListAsk { after: first.next.clone(), ..ListAsk::default() }).unwrap();
    assert!(first.entries.len() < 500);
    assert_eq!((first.entries.len() + rest.entries.len(), rest.next), (500, None));
    let wrong = list(&vault, &ListAsk { after: Some("?".to_owned()), ..ListAsk::default() }).unwrap_err();
    assert_eq!(wrong.code, "bad-request");
}

#[test]
fn the_list_says_all_but_what_is_sealed() {
    let (vault, machines) = vault(&quickstart());
    let answer = list(&vault, &ListAsk::default()).unwrap();
    let lines: Vec<_> = answer
        .entries
        .iter()
        .map(|entry| {
            let to: Vec<_> = entry.recipients.keys().map(NodeName::as_str).collect();
            format!(
                "{} {} {} {:?} {:?} {}",
                entry.node,
                entry.module,
                entry.name,
                entry.origin,
                entry.state,
                to.join("+")
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "attic postgres secret.superuser Own Live attic",
            "cellar notes db Credential Live attic+cellar",
            "cellar notes secret.smtp Supplied Waiting ",
        ]
    );
    assert_eq!(answer.entries[1].recipients[&node("cellar")], machines.of("cellar").public());
    let json = serde_json::to_string(&answer).unwrap();
    assert!(!json.contains("ciphertext") && !json.contains("signature"));

    let mut without = quickstart();
    without.entries.remove(&key("cellar.notes.db"));
    without.unsure.insert("cellar.notes".parse().unwrap());
    vault.look(|_| without, &|_| None, Instant::now()).unwrap();
    assert_eq!(list(&vault, &ListAsk::default()).unwrap().entries[1].state, VaultState::Unwanted);
}

#[test]
fn supplied_by_an_operator_who_never_shows_it() {
    let (vault, machines) = vault(&quickstart());
    let ask = RecipientsAsk { module: "notes".parse().unwrap(), name: "smtp".parse().unwrap(), node: None };
    let to = recipients(&vault, &ask).unwrap();
    assert_eq!(to.recipients, [(node("cellar"), machines.of("cellar").public())].into());

    let fields = Fields::own(Secret::from("hunter2".to_owned())).encode().unwrap();
    let kept = put(&vault, ask_put("smtp", &to.recipients[&node("cellar")], fields.expose())).unwrap();
    assert_eq!(kept.version, 1);
    let answer = secret(&vault, &node("cellar"), ask_secret("notes", "secret.smtp")).unwrap();
    let expect = Expect {
        mesh: "home",
        node: "cellar",
        owner: "cellar.notes",
        name: "secret.smtp",
        at_least_version: 1,
    };
    let opened =
        answer.credentials[0].sealed.open(machines.of("cellar"), &vault.verifying(), &expect).unwrap();
    assert_eq!(Fields::decode(&opened).unwrap().get(Fields::OWN).unwrap().expose(), b"hunter2");
}

#[test]
fn what_cannot_be_put_is_refused_by_name() {
    let (vault, machines) = vault(&quickstart());
    let ours = machines.of("cellar").public();
    let code = |ask| put(&vault, ask).unwrap_err().code;
    assert_eq!(code(ask_put("smtp", &SealingKey::generate().public(), b"x")), "another-key");
    assert_eq!(code(ask_put("nothing", &ours, b"x")), "unknown-secret");
    assert_eq!(code(ask_put("smtp", &ours, &[0; LONGEST])), "too-large");
    let mut made = ask_put("superuser", &machines.of("attic").public(), b"x");
    (made.node, made.module) = (node("attic"), "postgres".parse().unwrap());
    assert_eq!(code(made), "not-supplied");
    let ask = |module: &str, name: &str| {
        recipients(
            &vault,
            &RecipientsAsk { module: module.parse().unwrap(), name: name.parse().unwrap(), node: None },
        )
    };
    assert_eq!(ask("postgres", "superuser").unwrap_err().code, "not-supplied");
    assert_eq!(ask("notes", "nothing").unwrap_err().code, "unknown-secret");
}

#[test]
fn a_provider_hears_nothing_before_the_first_look_and_all_that_there_is_after_it() {
    let ask = || ask_consumers("postgres", "postgres-database", None);
    let signing = SigningKey::generate(&mut SystemRandom).unwrap();
    let new = Vault::new("home".parse().unwrap(), signing, Arc::new(MemoryStore::default()));
    assert_eq!(consumers(&new, &node("attic"), &ask()).unwrap_err().code, "not-ready");

    let (vault, _) = vault(&quickstart());
    let unsure =
        [key("cellar.notes.db")].map(|key| mesh_model::key::ModuleKey { node: key.node, module: key.module });
    vault.look(|_| Wanted { unsure: unsure.into(), ..Wanted::default() }, &|_| None, Instant::now()).unwrap();
    let answer = consumers(&vault, &node("attic"), &ask()).unwrap();
    assert_eq!(answer.entries.len(), 1, "an assignment that is not there at the moment takes nothing back");
}

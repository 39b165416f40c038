//! From assignments to what nodes and operators are answered, through restarts and refusals.

use mesh_bus::verb::{self, AskError};
use mesh_bus::{Bucket, Kv};
use mesh_model::wire::{
    ConsumersAnswer, ConsumersAsk, ListAnswer, ListAsk, PinAsk, PutAnswer, PutAsk, RecipientsAnswer,
    RecipientsAsk, SecretAsk, VaultState,
};
use mesh_seal::{
    Ciphertext, DigestKey, Expect, Fields, Recipient, Sealed, SealingKey, Secret, SystemRandom, VerifyingKey,
};
use serde_json::Value;

use crate::home::{Home, Machine, node, quickstart, until};

fn open(sealed: &Sealed, machine: &Machine, vault: &VerifyingKey, owner: &str, name: &str) -> Fields {
    let node = machine.name.as_str();
    let expect = Expect { mesh: "home", node, owner, name, at_least_version: 1 };
    Fields::decode(&sealed.open(&machine.key, vault, &expect).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn from_assignments_to_credentials_that_both_ends_open() {
    let home = Home::new().await;
    let vault = home.vault().await;
    let (attic, cellar) = (Machine::new(&home, "attic").await, Machine::new(&home, "cellar").await);
    quickstart(&home).await;
    let signer = attic.join().await;
    until("it is said who is waited for", async || {
        home.record("cellar.notes.db").await?.why.filter(|why| why.contains("cellar has not joined"))
    })
    .await;
    cellar.join().await;

    let own = cellar.one_secret("notes", "db").await;
    let ours = open(&own, &cellar, &signer, "cellar.notes", "db");
    let ask = ConsumersAsk {
        module: "postgres".parse().unwrap(),
        provision: "postgres-database".parse().unwrap(),
        after: None,
    };
    let theirs: ConsumersAnswer<Sealed> =
        verb::ask(&attic.bus, "mesh-vault.consumers.attic", &ask).await.unwrap();
    let theirs = open(&theirs.entries[0].credentials[0].sealed, &attic, &signer, "cellar.notes", "db");
    let digests = DigestKey::generate(&mut SystemRandom).unwrap();
    assert!(digests.are_same(ours.get("password").unwrap(), theirs.get("password").unwrap()));

    let superuser = attic.one_secret("postgres", "secret.superuser").await;
    let superuser = open(&superuser, &attic, &signer, "attic.postgres", "secret.superuser");
    assert_eq!(superuser.get(Fields::OWN).unwrap().len(), 32);

    let record =
        until("it is published", async || home.record("cellar.notes.db").await.filter(|r| r.why.is_none()))
            .await;
    assert_eq!(
        record.versions.iter().map(|one| (one.id.as_str(), one.version)).collect::<Vec<_>>(),
        [(own.label.id.as_str(), 1)]
    );
    vault.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn made_once_through_any_restart_of_vault_and_bus() {
    let home = Home::new().await;
    let (attic, cellar) = (Machine::new(&home, "attic").await, Machine::new(&home, "cellar").await);
    quickstart(&home).await;
    let mut first: Option<(VerifyingKey, Sealed, Sealed)> = None;
    for round in 0..4 {
        let vault = home.vault().await;
        let signer = attic.join().await;
        cellar.join().await;
        if round == 2 {
            home.bus.kill_server().await;
            until("the vault answers again", async || {
                let ask = SecretAsk { module: "notes".parse().unwrap(), name: "db".to_owned() };
                verb::ask::<Value>(&cellar.bus, "mesh-vault.secret.cellar", &ask).await.ok()
            })
            .await;
        }
        let now = (
            signer,
            cellar.one_secret("notes", "db").await,
            cellar.one_secret("notes", "secret.admin").await,
        );
        match &first {
            Some(first) => assert!(*first == now, "something was made again in round {round}"),
            None => first = Some(now),
        }
        if round % 2 == 0 { vault.kill().await } else { vault.stop().await }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn withdrawn_is_answered_no_more_and_comes_back_as_another() {
    let home = Home::new().await;
    let vault = home.vault().await;
    let (attic, cellar) = (Machine::new(&home, "attic").await, Machine::new(&home, "cellar").await);
    attic.join().await;
    cellar.join().await;
    quickstart(&home).await;
    let first = cellar.one_secret("notes", "db").await;
    let superuser = attic.one_secret("postgres", "secret.superuser").await;
    home.unassign("cellar", "notes").await;
    until("it is gone", async || home.record("cellar.notes.db").await.is_none().then_some(())).await;
    assert!(cellar.secret("notes", "db").await.credentials.is_empty());
    quickstart(&home).await;
    let second = cellar.one_secret("notes", "db").await;
    assert_ne!(first.label.id, second.label.id);
    assert_eq!(second.label.version, 2);
    assert_eq!(attic.one_secret("postgres", "secret.superuser").await, superuser);
    vault.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_supplies_what_the_vault_never_sees() {
    let home = Home::new().await;
    let vault = home.vault().await;
    let cellar = Machine::new(&home, "cellar").await;
    let signer = cellar.join().await;
    quickstart(&home).await;
    cellar.one_secret("notes", "secret.admin").await;

    let operator = home.bus.operator().await;
    let ask = RecipientsAsk { module: "notes".parse().unwrap(), name: "smtp".parse().unwrap(), node: None };
    let to: RecipientsAnswer<Recipient> = verb::ask(&operator, "mesh-vault.recipients", &ask).await.unwrap();
    let recipient = to.recipients[&node("cellar")].clone();
    let fields = Fields::own(Secret::from("sentinel-77ab".to_owned())).encode().unwrap();
    let ciphertext = mesh_seal::seal(&recipient, fields.expose()).unwrap();
    let (module, name) = ("notes".parse().unwrap(), "smtp".parse().unwrap());
    let (node, id, escrow) = (node("cellar"), None, Default::default());
    let put = PutAsk::<Recipient, Ciphertext> { node, module, name, recipient, ciphertext, id, escrow };
    let kept: PutAnswer = verb::ask(&operator, "mesh-vault.put", &put).await.unwrap();
    assert_eq!(kept.version, 1);
    let sealed = cellar.one_secret("notes", "secret.smtp").await;
    let opened = open(&sealed, &cellar, &signer, "cellar.notes", "secret.smtp");
    assert_eq!(opened.get(Fields::OWN).unwrap().expose(), b"sentinel-77ab");

    let list: ListAnswer<Recipient> =
        verb::ask(&operator, "mesh-vault.list", &ListAsk::default()).await.unwrap();
    let state = |name: &str| list.entries.iter().find(|entry| entry.name == name).unwrap().state;
    assert_eq!((state("secret.smtp"), state("db")), (VaultState::Live, VaultState::Waiting));
    let asked = verb::ask::<Value>(&operator, "mesh-vault.secret.cellar", &ListAsk::default()).await;
    assert!(matches!(asked, Err(AskError::Unreachable { .. })), "{asked:?}");
    vault.stop().await;
    no_file_holds(&home, b"sentinel-77ab");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_who_its_subject_says() {
    let home = Home::new().await;
    let vault = home.vault().await;
    let (attic, cellar) = (Machine::new(&home, "attic").await, Machine::new(&home, "cellar").await);
    attic.join().await;
    cellar.join().await;
    quickstart(&home).await;
    cellar.one_secret("notes", "db").await;
    // Not under another's name, and another key not under its own.
    let ask = SecretAsk { module: "notes".parse().unwrap(), name: "db".to_owned() };
    let asked = verb::ask::<Value>(&attic.bus, "mesh-vault.secret.cellar", &ask).await;
    assert!(matches!(asked, Err(AskError::Unreachable { .. })), "{asked:?}");
    let body = serde_json::json!({"module": "notes", "name": "db", "node": "cellar"});
    let asked: Value = verb::ask(&attic.bus, "mesh-vault.secret.attic", &body).await.unwrap();
    assert_eq!(asked["credentials"], serde_json::json!([]));
    let another = PinAsk { recipient: SealingKey::generate().public() };
    let asked = verb::ask::<Value>(&attic.bus, "mesh-vault.pin.attic", &another).await;
    let Err(AskError::Refused { refused, .. }) = asked else { panic!("{asked:?}") };
    assert_eq!(refused.code, "another-key");
    vault.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_broke_heals_and_what_cannot_be_read_stops_nothing() {
    let home = Home::new().await;
    let vault = home.vault().await;
    let (attic, cellar) = (Machine::new(&home, "attic").await, Machine::new(&home, "cellar").await);
    attic.join().await;
    cellar.join().await;
    quickstart(&home).await;
    let first = cellar.one_secret("notes", "db").await;
    let good =
        until("it is published", async || home.record("cellar.notes.db").await.filter(|r| r.why.is_none()))
            .await;

    let controller = home.bus.all().await;
    let (assignments, credentials) =
        (Kv::new(&controller, Bucket::assignments()), Kv::new(&controller, Bucket::credentials()));
    assignments.put("cellar.notes", "{\"v\":9}").await.unwrap();
    credentials.delete("cellar.notes.db").await.unwrap();
    credentials.put("cellar.notes.nonsense", "{}").await.unwrap();
    let healed = async || home.record("cellar.notes.db").await.filter(|record| *record == good);
    until("the record is back", healed).await;
    let pruned = async || credentials.get("cellar.notes.nonsense").await.unwrap().is_none().then_some(());
    until("the stranger is gone", pruned).await;
    assert_eq!(cellar.one_secret("notes", "db").await, first);
    vault.stop().await;
}

/// Looks through everything that the vault and the bus have written.
fn no_file_holds(home: &Home, needle: &[u8]) {
    let mut folders = vec![home.folder(), home.bus.folder().to_owned()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                files += 1;
                assert!(!bytes.windows(needle.len()).any(|part| part == needle), "{}", path.display());
            }
        }
    }
    assert!(files > 2, "nothing was looked at");
}

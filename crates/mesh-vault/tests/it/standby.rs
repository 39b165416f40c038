//! Vaults on two machines: what one has answered, the other answers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mesh_bus::journal::Row;
use mesh_bus::{Bucket, Journal, Kv, verb};
use mesh_model::wire::{PutAnswer, PutAsk, SecretAnswer, SecretAsk};
use mesh_seal::{Ciphertext, Fields, Recipient, Sealed, Secret};
use mesh_vault::ServiceError;
use mesh_vault::store::RedbStore;
use serde_json::json;

use crate::home::{Home, Machine, node, quickstart, until};

/// What a machine is answered; nothing while nobody answers.
async fn secret(machine: &Machine, module: &str, name: &str) -> Option<Sealed> {
    let ask = SecretAsk { module: module.parse().unwrap(), name: name.to_owned() };
    let verb = format!("mesh-vault.secret.{}", machine.name);
    let answer: SecretAnswer<Sealed> = verb::ask(&machine.bus, &verb, &ask).await.ok()?;
    answer.credentials.into_iter().next_back().map(|one| one.sealed)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_right_after_it_answered_another_answers_the_same() {
    let home = Home::new().await;
    let (attic, cellar) = (Machine::new(&home, "attic").await, Machine::new(&home, "cellar").await);
    let mut holder = home.vault().await;
    let mut standby = home.standby().await;
    let signer = attic.join().await;
    assert_eq!(cellar.join().await, signer);
    quickstart(&home).await;
    let mut answered: BTreeMap<String, Sealed> = BTreeMap::new();
    let mut took = Vec::new();
    for round in 0..6 {
        // Something new each time, and the holder is killed the moment that it has answered.
        let name = format!("secret.r{round}");
        let own = json!({name.trim_start_matches("secret."): {"length": 32, "alphabet": "alphanumeric"}});
        home.assign("cellar", &format!("m{round}"), json!({"secrets": own})).await;
        let module = format!("m{round}");
        let new = until("it is answered", async || secret(&cellar, &module, &name).await).await;
        let begun = Instant::now();
        holder.kill().await;
        answered.insert(module.clone(), new.clone());
        let again = until("another answers", async || secret(&cellar, &module, &name).await).await;
        took.push(begun.elapsed());
        assert_eq!(again, new, "the same id, the same sealed bytes");
        for (number, (module, sealed)) in answered.iter().enumerate() {
            let now = secret(&cellar, module, &format!("secret.r{number}")).await;
            assert_eq!(now.as_ref(), Some(sealed), "{module} was made again in round {round}");
        }
        holder = standby;
        // Whoever was killed comes back, on the machine that it was on.
        standby = if round % 2 == 0 { home.vault().await } else { home.standby().await };
    }
    println!("answered again after {took:?}, at a lease of 1 s");
    standby.stop().await;
    holder.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_supplied_is_there_when_its_holder_is_killed() {
    let home = Home::new().await;
    let cellar = Machine::new(&home, "cellar").await;
    let holder = home.vault().await;
    let standby = home.standby().await;
    cellar.join().await;
    quickstart(&home).await;
    until("it is known", async || secret(&cellar, "notes", "secret.admin").await).await;
    let operator = home.bus.operator().await;
    let recipient = cellar.key.public();
    let fields = Fields::own(Secret::from("sentinel-19fe".to_owned())).encode().unwrap();
    let ciphertext = mesh_seal::seal(&recipient, fields.expose()).unwrap();
    let (module, name) = ("notes".parse().unwrap(), "smtp".parse().unwrap());
    let (node, id, escrow) = (node("cellar"), None, Default::default());
    let put = PutAsk::<Recipient, Ciphertext> { node, module, name, recipient, ciphertext, id, escrow };
    let kept: PutAnswer = verb::ask(&operator, "mesh-vault.put", &put).await.unwrap();
    holder.kill().await;
    let sealed = until("another answers", async || secret(&cellar, "notes", "secret.smtp").await).await;
    assert_eq!(sealed.label.id, kept.id);
    standby.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stands_by_has_it_on_its_own_disk() {
    let home = Home::new().await;
    let cellar = Machine::new(&home, "cellar").await;
    let holder = home.vault().await;
    let standby = home.standby().await;
    cellar.join().await;
    quickstart(&home).await;
    let made = until("it is made", async || secret(&cellar, "notes", "secret.admin").await).await;
    let (ours, theirs) = (holder.store.clone(), standby.store.clone());
    tokio::time::sleep(Duration::from_millis(1500)).await;
    holder.kill().await;
    standby.kill().await;
    let rows = |path| RedbStore::open(path).unwrap().dump().unwrap();
    assert_eq!(rows(&ours), rows(&theirs));
    let text = serde_json::to_string(&made).unwrap();
    assert!(rows(&theirs).iter().any(|row| {
        row.value
            .as_ref()
            .is_some_and(|value| String::from_utf8_lossy(value).contains(text.trim_matches(['{', '}'])))
    }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_lost_comes_back_from_the_log() {
    let home = Home::new().await;
    let cellar = Machine::new(&home, "cellar").await;
    let vault = home.vault().await;
    cellar.join().await;
    quickstart(&home).await;
    let made = until("it is made", async || secret(&cellar, "notes", "secret.admin").await).await;
    let store = vault.store.clone();
    vault.stop().await;
    std::fs::remove_file(&store).unwrap();
    let vault = home.vault().await;
    let again = until("it is answered", async || secret(&cellar, "notes", "secret.admin").await).await;
    assert_eq!(again, made);
    vault.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_lost_with_its_log_is_said_and_nothing_is_made_again() {
    let home = Home::new().await;
    let vault = home.vault().await;
    Machine::new(&home, "cellar").await.join().await;
    let (store, key) = (vault.store.clone(), home.folder().join("signing.key"));
    vault.stop().await;
    // The same key on another bus.
    let other = Home::new().await;
    std::fs::create_dir_all(other.folder()).unwrap();
    std::fs::copy(key, other.folder().join("signing.key")).unwrap();
    assert!(store.exists());
    let vault = other.vault().await;
    let error = vault.ended().await.unwrap_err();
    let chain = mesh_model::causes::in_a_line(&error);
    assert!(matches!(error, ServiceError::Follow { .. }) && chain.contains("is gone"), "{chain}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_another_log_is_put_aside_and_follows_the_one_that_was_answered_from() {
    let home = Home::new().await;
    let cellar = Machine::new(&home, "cellar").await;
    let holder = home.vault().await;
    cellar.join().await;
    quickstart(&home).await;
    let made = until("it is made", async || secret(&cellar, "notes", "secret.admin").await).await;
    let standby = home.standby().await;
    let store = standby.store.clone();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    standby.stop().await;
    // It was of another mesh, say, or of a time before a restore.
    {
        let theirs = RedbStore::open(&store).unwrap();
        let followed = theirs.followed().unwrap();
        theirs.follow(mesh_vault::store::Followed { log: followed.log ^ 1, ..followed }).unwrap();
    }
    let standby = home.standby().await;
    holder.kill().await;
    let again = until("another answers", async || secret(&cellar, "notes", "secret.admin").await).await;
    assert_eq!(again, made);
    standby.stop().await;
    let aside = std::fs::read_to_string(store.with_file_name("vault-of-another-log-1.backup")).unwrap();
    let aside = mesh_vault::backup::Backup::from_text(&aside).unwrap();
    assert!(aside.rows.iter().any(|row| row.key == "credentials.cellar.notes.secret=2Eadmin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_went_back_is_brought_forward_by_whoever_has_more() {
    let home = Home::new().await;
    let cellar = Machine::new(&home, "cellar").await;
    let vault = home.vault().await;
    cellar.join().await;
    quickstart(&home).await;
    let made = until("it is made", async || secret(&cellar, "notes", "secret.admin").await).await;
    let store = vault.store.clone();
    vault.stop().await;
    {
        // As if what is on the bus were of an older backup: it ends before what the store has followed.
        let ours = RedbStore::open(&store).unwrap();
        let followed = ours.followed().unwrap();
        ours.follow(mesh_vault::store::Followed { sequence: followed.sequence + 1000, ..followed }).unwrap();
        let journal = Journal::open(&home.bus.vault_store().await, "VAULT").await.unwrap();
        let gone = Row { key: "credentials.cellar.notes.secret=2Eadmin".to_owned(), value: None };
        journal.append(&[gone], journal.end().await.unwrap()).await.unwrap();
    }
    let vault = home.vault().await;
    let again = until("it is answered", async || secret(&cellar, "notes", "secret.admin").await).await;
    assert_eq!(again, made);
    vault.stop().await;
    let standby = home.standby().await;
    let again = until("it is answered", async || secret(&cellar, "notes", "secret.admin").await).await;
    assert_eq!(again, made, "and so the log has it");
    standby.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_wakes_after_another_took_the_seat_keeps_nothing() {
    let home = Home::new().await;
    let cellar = Machine::new(&home, "cellar").await;
    let vault = home.vault().await;
    cellar.join().await;
    quickstart(&home).await;
    until("it is made", async || secret(&cellar, "notes", "secret.admin").await).await;
    // Another writes the log, without the seat: as far as the holder knows, nothing has happened.
    let journal = Journal::open(&home.bus.vault_store().await, "VAULT").await.unwrap();
    let term = Row { key: "about.term".to_owned(), value: Some("{}".into()) };
    let end = journal.append(&[term], journal.end().await.unwrap()).await.unwrap();
    let own = json!({"late": {"length": 32, "alphabet": "alphanumeric"}});
    home.assign("cellar", "late", json!({"secrets": own})).await;
    // It is refused, gives the seat up, takes it anew, and makes it then.
    let made = until("it is made", async || secret(&cellar, "late", "secret.late").await).await;
    assert_eq!(made.label.version, 1, "what was refused was given to nobody, and no version was used up");
    let lines = journal.read(end, journal.end().await.unwrap()).await.unwrap();
    assert_eq!(lines[0].row.key, "about.term", "the new term is in the log before anything that it made");
    let seat = Kv::new(&cellar.bus, Bucket::seats()).get("mesh-vault").await.unwrap().unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(&seat.value).unwrap()["term"].as_u64() > Some(1));
    vault.stop().await;
}

//! Escrow on a real bus: what an operator who may apply cannot do, and what is sealed once somebody at the server did.

use mesh_bus::verb::{self, AskError};
use mesh_bus::{Bucket, Kv};
use mesh_model::wire::{
    ConfirmEscrowAnswer, ConfirmEscrowAsk, EscrowAnswer, EscrowState, EscrowedAnswer, EscrowedAsk,
};
use mesh_seal::{Ciphertext, Recipient, SealingKey};
use serde_json::{Value, json};

use crate::home::{Home, Machine, quickstart, until};

/// The plan in effect, as far as the vault reads it.
async fn plan(home: &Home, escrow: &[&SealingKey]) {
    let named: Vec<_> = escrow.iter().map(|key| key.public()).collect();
    put(home, json!({"v": 1, "escrow": named})).await;
}

async fn put(home: &Home, record: Value) {
    let controller = home.bus.seat("mesh-controller").await;
    Kv::new(&controller, Bucket::plan()).put("current", serde_json::to_vec(&record).unwrap()).await.unwrap();
}

async fn standing(operator: &mesh_bus::Bus) -> Option<EscrowAnswer<Recipient>> {
    verb::ask(operator, "mesh-vault.escrow", &json!({})).await.ok()
}

/// Asks as whoever has the server's folder.
async fn confirm(server: &mesh_bus::Bus, key: &SealingKey) -> ConfirmEscrowAnswer {
    let ask = ConfirmEscrowAsk { recipient: key.public() };
    verb::ask(server, "mesh-vault.confirm-escrow", &ask).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_alone_adds_no_recipient() {
    let home = Home::new().await;
    let vault = home.vault().await;
    let (operator, server) = (home.bus.operator().await, home.bus.seat("mesh-server").await);
    let (attic, cellar) = (Machine::new(&home, "attic").await, Machine::new(&home, "cellar").await);
    let (attacker, person) = (SealingKey::generate(), SealingKey::generate());
    attic.join().await;
    cellar.join().await;
    plan(&home, &[&attacker, &person]).await;
    let waits = |answer: &EscrowAnswer<Recipient>| answer.recipients.len() == 2;
    let standing_now =
        until("both are seen", async || standing(&operator).await.filter(|answer| waits(answer))).await;
    assert!(standing_now.recipients.values().all(|state| *state == EscrowState::Waiting));

    // The operator's account does not reach the verb, under no subject; nor does a node's.
    let ask = ConfirmEscrowAsk { recipient: attacker.public() };
    for subject in [
        "mesh-vault.confirm-escrow",
        "mesh-vault.confirm-escrow.operator=local",
        "mesh-vault.confirm-escrow.seat=mesh-server",
    ] {
        for bus in [&operator, &cellar.bus] {
            let asked = verb::ask::<Value>(bus, subject, &ask).await;
            assert!(matches!(asked, Err(AskError::Unreachable { .. })), "{subject}: {asked:?}");
        }
    }
    assert_eq!(confirm(&server, &person).await.state, EscrowState::Sealed);

    quickstart(&home).await;
    cellar.one_secret("notes", "db").await;
    let escrowed: EscrowedAnswer<Recipient, Ciphertext> =
        verb::ask(&operator, "mesh-vault.escrowed", &EscrowedAsk::default()).await.unwrap();
    assert!(!escrowed.entries.is_empty());
    for entry in &escrowed.entries {
        assert_eq!(entry.copies.keys().collect::<Vec<_>>(), [&person.public()], "{}", entry.name);
        assert!(person.open(&entry.copies[&person.public()]).is_ok());
    }
    vault.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn confirmed_through_restarts_and_a_plan_that_cannot_be_read() {
    let home = Home::new().await;
    let (operator, server) = (home.bus.operator().await, home.bus.seat("mesh-server").await);
    let person = SealingKey::generate();
    let stands = async |state| {
        let is_so = |answer: &EscrowAnswer<Recipient>| answer.recipients.get(&person.public()) == state;
        until("it stands so", async || standing(&operator).await.filter(is_so)).await
    };
    let vault = home.vault().await;
    stands(None).await;
    assert_eq!(confirm(&server, &person).await.state, EscrowState::Ahead, "before any plan names it");
    vault.kill().await;

    let vault = home.vault().await;
    plan(&home, &[&person]).await;
    stands(Some(&EscrowState::Sealed)).await;
    // What cannot be read changes nothing, before a restart and after one.
    put(&home, json!({"v": 7, "escrow": []})).await;
    vault.stop().await;
    let vault = home.vault().await;
    stands(Some(&EscrowState::Sealed)).await;
    plan(&home, &[]).await;
    stands(None).await;
    plan(&home, &[&person]).await;
    stands(Some(&EscrowState::Waiting)).await;
    vault.stop().await;
}

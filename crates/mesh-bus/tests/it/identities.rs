//! Keys, credentials and accounts, as the server takes them.

use std::sync::Arc;

use mesh_bus::accounts::{Accounts, Pushed};
use mesh_bus::grants::{Grants, NodeReach};
use mesh_bus::testing::Bus;
use mesh_bus::{Account, Authority, Bucket, Creds, FirstTry, Kv, UserKey, client};
use time::{Duration, OffsetDateTime};

#[tokio::test]
async fn a_node_is_let_in_by_the_public_half_of_a_key_that_never_left_it() {
    let bus = Bus::start().await;
    let grants = Grants::of_node(&"attic".parse().unwrap(), &NodeReach::default());
    assert_eq!(bus.accounts.push(&grants).await.unwrap(), Pushed::Changed);
    assert_eq!(bus.accounts.push(&grants).await.unwrap(), Pushed::Same);
    let key = UserKey::new();
    let token = bus.authority.admit(&grants.account, &key.public(), None);
    let creds = Creds::new(grants.account.clone(), token, key);
    let creds = Creds::from_text(&creds.to_text()).unwrap();
    assert_eq!(*creds.account(), grants.account);
    let node = client::Bus::connect(bus.url(), &creds, FirstTry::Fails).await.unwrap();
    Kv::new(&node, Bucket::applied()).put("attic.notes", "{}").await.unwrap();

    // Whoever has the text and no other part of mesh gets in by it as well.
    let plain = async_nats::ConnectOptions::with_credentials(&creds.to_text()).unwrap();
    plain.connect(bus.url()).await.unwrap();

    // The token alone is worth nothing.
    let stolen = Creds::new(grants.account.clone(), token_of(&creds), UserKey::new());
    assert!(client::Bus::connect(bus.url(), &stolen, FirstTry::Fails).await.is_err());
}

fn token_of(creds: &Creds) -> String {
    creds.to_text().lines().nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn a_revoked_user_is_out_and_the_account_stays() {
    let bus = Bus::start().await;
    let grants = Grants::of_node(&"attic".parse().unwrap(), &NodeReach::default());
    bus.accounts.push(&grants).await.unwrap();
    let creds = bus.authority.creds(&grants.account);
    let node = client::Bus::connect(bus.url(), &creds, FirstTry::Fails).await.unwrap();
    let user = UserKey::from_seed(creds.to_text().lines().nth(5).unwrap()).unwrap().public();
    bus.accounts.revoke(&grants, &user).await.unwrap();
    assert!(Kv::new(&node, Bucket::applied()).put("attic.notes", "{}").await.is_err());
    assert!(client::Bus::connect(bus.url(), &creds, FirstTry::Fails).await.is_err());
    bus.kill_server().await;
    assert!(client::Bus::connect(bus.url(), &creds, FirstTry::Fails).await.is_err());
    let other = bus.authority.creds(&grants.account);
    client::Bus::connect(bus.url(), &other, FirstTry::Fails).await.unwrap();
}

#[tokio::test]
async fn a_token_ends_when_it_says_so() {
    let bus = Bus::start().await;
    let account = Account::Operator("ann".parse().unwrap());
    let grants = Grants::of_operator(&"ann".parse().unwrap(), &mesh_bus::grants::OperatorReach::default());
    bus.accounts.push(&grants).await.unwrap();
    let key = UserKey::new();
    let past = OffsetDateTime::now_utc() - Duration::hours(1);
    let token = bus.authority.admit(&account, &key.public(), Some(past));
    let creds = Creds::new(account, token, key);
    assert!(client::Bus::connect(bus.url(), &creds, FirstTry::Fails).await.is_err());
}

/// Case 49: who signs and who checks need not agree on the time.
#[tokio::test]
async fn life_49_clocks_ten_minutes_apart_let_everybody_in() {
    fn ahead() -> OffsetDateTime {
        OffsetDateTime::now_utc() + Duration::minutes(10)
    }
    fn behind() -> OffsetDateTime {
        OffsetDateTime::now_utc() - Duration::minutes(10)
    }
    let bus = Bus::start().await;
    for (name, clock) in [("attic", ahead as fn() -> OffsetDateTime), ("cellar", behind)] {
        // The same keys, by another clock: accounts, users and revocations are signed by it.
        let authority = Authority::open(&bus.folder().join("keys"), clock).unwrap();
        let authority = Arc::new(authority);
        let accounts = Accounts::connect(bus.url(), Arc::clone(&authority)).await.unwrap();
        let grants = Grants::of_node(&name.parse().unwrap(), &NodeReach::default());
        accounts.push(&grants).await.unwrap();
        let key = UserKey::new();
        let until = clock() + Duration::hours(1);
        let token = authority.admit(&grants.account, &key.public(), Some(until));
        let creds = Creds::new(grants.account.clone(), token, key);
        let node = client::Bus::connect(bus.url(), &creds, FirstTry::Fails).await.unwrap();
        Kv::new(&node, Bucket::applied()).put(format!("{name}.notes"), "{}").await.unwrap();
        // Grants follow each other in the order in which they are given.
        let provider = "postgres".parse().unwrap();
        let wider = NodeReach { providers: [provider].into(), ..NodeReach::default() };
        bus.buckets(&[Bucket::bound(&"postgres".parse().unwrap())]).await;
        accounts.push(&Grants::of_node(&name.parse().unwrap(), &wider)).await.unwrap();
        let bound = Kv::new(&node, Bucket::bound(&"postgres".parse().unwrap()));
        assert_eq!(bound.get(format!("{name}.notes.postgres-database.db")).await.unwrap(), None);
        bus.kill_server().await;
        let again = client::Bus::connect(bus.url(), &creds, FirstTry::Fails).await.unwrap();
        Kv::new(&again, Bucket::applied()).put(format!("{name}.notes"), "{}").await.unwrap();
    }
}

#[tokio::test]
async fn grants_that_end_end_at_once_without_a_new_connection() {
    let bus = Bus::start().await;
    let provider = "postgres".parse().unwrap();
    let reach = NodeReach { providers: [provider].into(), ..NodeReach::default() };
    let node = bus.node("attic", &reach).await;
    let kv = Kv::new(&node, Bucket::bound(&"postgres".parse().unwrap()));
    assert!(kv.get("attic.notes.postgres-database.db").await.unwrap().is_none());
    let narrower = Grants::of_node(&"attic".parse().unwrap(), &NodeReach::default());
    assert_eq!(bus.accounts.push(&narrower).await.unwrap(), Pushed::Changed);
    assert!(kv.get("attic.notes.postgres-database.db").await.is_err());
    Kv::new(&node, Bucket::applied()).put("attic.notes", "{}").await.unwrap();
}

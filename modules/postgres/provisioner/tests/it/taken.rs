//! What the provisioner did not make, or made for somebody else.

use crate::provisioner::consumer;
use crate::server::Server;

#[tokio::test]
async fn what_it_did_not_make_is_named_and_not_touched_and_holds_up_nobody() {
    let server = Server::start(&[]);
    let admin = server.superuser("template1").await;
    admin.run("CREATE ROLE carol LOGIN PASSWORD 'carols'").await.unwrap();
    admin.run("CREATE DATABASE ledger OWNER carol").await.unwrap();
    admin.run("CREATE ROLE notes_attic_db_a1; COMMENT ON ROLE notes_attic_db_a1 IS 'by hand'").await.unwrap();
    admin.run("CREATE ROLE \"shop:shop\"").await.unwrap();
    let all = "SELECT md5(string_agg(r::text, '' ORDER BY oid)) FROM pg_authid r \
               WHERE rolname IN ('carol', 'notes_attic_db_a1', 'shop:shop')";
    let before =
        (admin.ask(all).await, admin.ask("SELECT d::text FROM pg_database d WHERE datname = 'ledger'").await);
    server.deliver(&[
        consumer("ledger", "attic", "ledger", &[("a1", "one")]),
        consumer("root", "attic", "postgres", &[("a1", "one")]),
        consumer("notes", "attic", "notes", &[("a1", "one")]),
        consumer("shop", "attic", "shop", &[("a1", "one")]),
        consumer("wiki", "attic", "wiki", &[("a1", "one")]),
    ]);
    let ran = server.pass();
    assert_eq!(ran.code, 1);
    for (who, said) in [
        ("ledger@attic", "the name is taken by a database that this provisioner did not make: `ledger`"),
        ("root@attic", "the name is taken by a database that this provisioner did not make: `postgres`"),
        (
            "notes@attic",
            "the name is taken by a role that this provisioner did not make: `notes_attic_db_a1`",
        ),
        ("shop@attic", "the name is taken by a role that this provisioner did not make: `shop:shop`"),
    ] {
        let error = ran.answers[who]["error"].as_str().unwrap_or_default();
        assert!(error.ends_with(said), "{who}: {error}");
    }
    assert_eq!(ran.answers["wiki@attic"]["credential"], "a1");
    let after =
        (admin.ask(all).await, admin.ask("SELECT d::text FROM pg_database d WHERE datname = 'ledger'").await);
    assert_eq!(before, after);
    server.deliver(&[]);
    assert_eq!(server.pass().code, 0);
    assert_eq!(
        admin.ask("SELECT count(*) FROM pg_authid WHERE rolname ~ '^(carol|notes_|shop:)'").await,
        "3"
    );
}

#[tokio::test]
async fn a_module_that_takes_a_former_ones_name_does_not_reach_its_data() {
    let server = Server::start(&[]);
    server.accepts(&[consumer("shop", "attic", "orders", &[("a1", "one")])]);
    let shop = server.log_in("shop_attic_db_a1", "one", "orders").await.unwrap();
    shop.run("CREATE TABLE paid AS SELECT 42 AS sum").await.unwrap();
    shop.run("COMMENT ON DATABASE orders IS 'free for all'").await.unwrap();
    server.deliver(&[consumer("thief", "attic", "orders", &[("b1", "two")])]);
    let ran = server.pass();
    let error = ran.answers["thief@attic"]["error"].as_str().unwrap().to_owned();
    assert!(ran.code == 1 && error.contains("of module `shop`, whose data is kept"), "{error}");
    assert!(server.log_in("thief_attic_db_b1", "two", "orders").await.is_err());
    assert!(server.log_in("shop_attic_db_a1", "one", "orders").await.is_err());
    server.accepts(&[consumer("shop", "cellar", "orders", &[("c1", "three")])]);
    let back = server.log_in("shop_cellar_db_c1", "three", "orders").await.unwrap();
    assert_eq!(back.ask("SELECT sum FROM paid").await, "42");
}

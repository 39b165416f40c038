//! Tests of the tokens' shape: what the server was measured to take.

use insta::assert_snapshot;
use nkeys::{KeyPair, KeyPairType};

use super::*;

fn key(kind: KeyPairType, byte: u8) -> KeyPair {
    KeyPair::new_from_raw(kind, [byte; 32]).unwrap()
}

fn part(token: &str, which: usize) -> Vec<u8> {
    BASE64URL_NOPAD.decode(token.split('.').nth(which).unwrap().as_bytes()).unwrap()
}

fn claims(token: &str) -> String {
    String::from_utf8(part(token, 1)).unwrap()
}

#[test]
fn an_operator_signs_itself() {
    let operator = key(KeyPairType::Operator, 1);
    let token = super::operator(&operator, "mesh", "ASYS", 1_700_000_000);
    assert_snapshot!(String::from_utf8(part(&token, 0)).unwrap(), @r#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    assert_snapshot!(claims(&token), @r#"{"iat":1700000000,"iss":"OCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVYOCS","sub":"OCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVYOCS","name":"mesh","nats":{"system_account":"ASYS","type":"operator","version":2},"jti":"MMI5HQLXC6GO2PGBHHYE3PG3AIMJLMVQMY34XZAXF7QRIBQ75YFQ"}"#);
}

#[test]
fn the_signature_covers_header_and_claims() {
    let operator = key(KeyPairType::Operator, 1);
    let token = super::operator(&operator, "mesh", "ASYS", 1_700_000_000);
    let (said, _) = token.rsplit_once('.').unwrap();
    operator.verify(said.as_bytes(), &part(&token, 2)).unwrap();
}

#[test]
fn the_id_is_the_digest_of_the_claims_without_it() {
    let token = super::operator(&key(KeyPairType::Operator, 1), "mesh", "ASYS", 1_700_000_000);
    let mut claims: Value = serde_json::from_slice(&part(&token, 1)).unwrap();
    let id = claims.as_object_mut().unwrap().shift_remove("jti").unwrap();
    let digest = BASE32_NOPAD.encode(&Sha512_256::digest(claims.to_string().as_bytes()));
    assert_eq!(id, digest);
}

#[test]
fn an_account_that_reaches_another() {
    let operator = key(KeyPairType::Operator, 1);
    let imports = [
        Import { subject: "$KV.b.attic.>".to_owned(), local: None },
        Import { subject: "$JS.API.X".to_owned(), local: Some("bus.API.X".to_owned()) },
    ];
    let claims_of = AccountClaims {
        limits: Limits { payload: 65_536, connections: 4, jetstream: JetStream::None },
        exports: &[],
        imports: &imports,
        from: "ABUS",
        revoked: &[("UGONE".to_owned(), 1_600_000_000)],
    };
    let token = super::account(&operator, "ANODE", "attic", 1_700_000_000, &claims_of);
    assert_snapshot!(claims(&token), @r#"{"iat":1700000000,"iss":"OCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVYOCS","sub":"ANODE","name":"attic","nats":{"limits":{"subs":-1,"data":-1,"payload":65536,"imports":-1,"exports":-1,"wildcards":true,"conn":4,"leaf":-1},"type":"account","version":2,"imports":[{"name":"$KV.b.attic.>","subject":"$KV.b.attic.>","account":"ABUS","type":"service"},{"name":"$JS.API.X","subject":"$JS.API.X","account":"ABUS","type":"service","local_subject":"bus.API.X"}],"revocations":{"UGONE":1600000000}},"jti":"SAKIQPSUAUMWQ7HUX6ROU5AYS6GSP5XRG2YEUUJSYH6QJEQ2ZLHA"}"#);
}

#[test]
fn the_account_that_is_reached() {
    let operator = key(KeyPairType::Operator, 1);
    let exports = [
        Export { subject: "$KV.>", answers: Answers::One },
        Export { subject: "$JS.API.CONSUMER.MSG.NEXT.>", answers: Answers::Many },
    ];
    let claims_of = AccountClaims {
        limits: Limits { payload: -1, connections: -1, jetstream: JetStream::Own },
        exports: &exports,
        imports: &[],
        from: "",
        revoked: &[],
    };
    let token = super::account(&operator, "ABUS", "BUS", 1_700_000_000, &claims_of);
    assert_snapshot!(claims(&token), @r#"{"iat":1700000000,"iss":"OCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVYOCS","sub":"ABUS","name":"BUS","nats":{"limits":{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,"wildcards":true,"conn":-1,"leaf":-1,"mem_storage":-1,"disk_storage":-1,"streams":-1,"consumer":-1},"type":"account","version":2,"exports":[{"name":"$KV.>","subject":"$KV.>","type":"service","response_type":"Singleton"},{"name":"$JS.API.CONSUMER.MSG.NEXT.>","subject":"$JS.API.CONSUMER.MSG.NEXT.>","type":"service","response_type":"Stream"}]},"jti":"VWLA66DG6PETLGIGVY4SNUZ574OKQ5XWEC673H7P3YRB3C53Z3XA"}"#);
}

#[test]
fn a_user_until_a_time() {
    let account = key(KeyPairType::Account, 2);
    let permissions = Permissions {
        publish: Subjects::only(vec!["a.>".to_owned()]),
        subscribe: Subjects::all_but(vec!["b".to_owned()]),
    };
    let token = super::user(&account, "UATTIC", "attic", 1_700_000_000, Some(1_700_003_600), &permissions);
    assert_snapshot!(claims(&token), @r#"{"iat":1700000000,"iss":"ACATS5YOVB6ROX2WUNKGNQ2MP3GMXDMKSG2O4N5CLX3A6W4PZGZZIL2R","sub":"UATTIC","name":"attic","nats":{"pub":{"allow":["a.>"]},"sub":{"deny":["b"]},"subs":-1,"data":-1,"payload":-1,"type":"user","version":2},"exp":1700003600,"jti":"NXV2BRF3YUUFMF6YDJ7G4PBUTXDHJV4BWD3LML4BQWLTQJFAP7KQ"}"#);
}

#[test]
fn the_end_of_an_account() {
    let token = delete(&key(KeyPairType::Operator, 1), &["AGONE"], 1_700_000_000);
    assert_snapshot!(claims(&token), @r#"{"iat":1700000000,"iss":"OCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVYOCS","sub":"OCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVYOCS","name":"delete","nats":{"accounts":["AGONE"],"type":"generic","version":2},"jti":"IQNCO7THHBZMXZB5CY6HRKMIKJWRPLVKW5YD4N7PNQ4UV73F4CHA"}"#);
}

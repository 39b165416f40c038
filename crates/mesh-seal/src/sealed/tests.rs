//! An envelope opens as what it is, for whom it is, and in no other way.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::SystemRandom;

const SENTINEL: &str = "sentinel-51c8-of-a-secret";
const EXPECT: Expect<'static> =
    Expect { mesh: "home", node: "attic", owner: "cellar.notes", name: "db", at_least_version: 3 };

struct Keys {
    vault: SigningKey,
    attic: SealingKey,
    other_vault: SigningKey,
    other_node: SealingKey,
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys {
    vault: SigningKey::generate(&mut SystemRandom).unwrap(),
    attic: SealingKey::generate(),
    other_vault: SigningKey::generate(&mut SystemRandom).unwrap(),
    other_node: SealingKey::generate(),
});

fn label() -> Label {
    let [mesh, node, owner, name, id] =
        ["home", "attic", "cellar.notes", "db", "c7f30011aa22bb33"].map(str::to_owned);
    Label { mesh, node, owner, name, id, version: 3 }
}

fn sealed_as(label: Label) -> Sealed {
    let secret = Secret::from(SENTINEL.to_owned());
    KEYS.vault.seal_for(label, &KEYS.attic.public(), &secret).unwrap()
}

fn opened(sealed: &Sealed) -> Result<Secret, OpenError> {
    sealed.open(&KEYS.attic, &KEYS.vault.verifying(), &EXPECT)
}

#[test]
fn opens_for_whom_it_is() {
    assert_eq!(opened(&sealed_as(label())).unwrap().expose_text(), Some(SENTINEL));
    let newer = sealed_as(Label { version: 4, ..label() });
    assert!(opened(&newer).is_ok());
}

#[test]
fn each_thing_that_is_not_as_asked_is_refused_by_its_own_name() {
    let named = |change: fn(&mut Label)| {
        let mut label = label();
        change(&mut label);
        opened(&sealed_as(label)).unwrap_err()
    };
    assert!(matches!(named(|l| l.mesh = "away".into()), OpenError::AnotherMesh { .. }));
    assert!(matches!(named(|l| l.node = "cellar".into()), OpenError::AnotherNode { .. }));
    assert!(matches!(named(|l| l.owner = "attic.notes".into()), OpenError::AnotherOwner { .. }));
    assert!(matches!(named(|l| l.name = "secret.admin".into()), OpenError::AnotherName { .. }));
    assert!(matches!(named(|l| l.version = 2), OpenError::Older { found: 2, seen: 3, .. }));
}

#[test]
fn another_vaults_signature_is_none() {
    let secret = Secret::from(SENTINEL.to_owned());
    let forged = KEYS.other_vault.seal_for(label(), &KEYS.attic.public(), &secret).unwrap();
    assert!(matches!(opened(&forged), Err(OpenError::NotSigned { .. })));
    let mut unsigned = sealed_as(label());
    unsigned.signature = Signature([0; 64]);
    assert!(matches!(opened(&unsigned), Err(OpenError::NotSigned { .. })));
}

#[test]
fn sealed_to_another_key() {
    let sealed = sealed_as(label());
    let refused = sealed.open(&KEYS.other_node, &KEYS.vault.verifying(), &EXPECT);
    assert!(matches!(refused, Err(OpenError::AnotherKey { .. })));
}

#[test]
fn signed_and_yet_damaged() {
    // What `put` signs unopened may be nothing that this node can open.
    let rubbish = Ciphertext::try_from("bm90IGFuIGFnZSBmaWxl".to_owned()).unwrap();
    let sealed = KEYS.vault.countersign(label(), KEYS.attic.public(), rubbish);
    assert!(matches!(opened(&sealed), Err(OpenError::Damaged { .. })));
    let elsewhere = seal(&KEYS.other_node.public(), b"x").unwrap();
    let sealed = KEYS.vault.countersign(label(), KEYS.attic.public(), elsewhere);
    assert!(matches!(opened(&sealed), Err(OpenError::Damaged { .. })));
}

#[test]
fn countersigned_unopened() {
    let by_operator = seal(&KEYS.attic.public(), SENTINEL.as_bytes()).unwrap();
    let sealed = KEYS.vault.countersign(label(), KEYS.attic.public(), by_operator);
    assert_eq!(opened(&sealed).unwrap().expose_text(), Some(SENTINEL));
}

#[test]
fn parts_of_a_true_one_make_no_other_true_one() {
    let (one, two) = (sealed_as(label()), sealed_as(label()));
    let mixed = Sealed { ciphertext: two.ciphertext, ..one.clone() };
    assert!(matches!(opened(&mixed), Err(OpenError::NotSigned { .. })));
    // Moving a character over the border between two fields is no other spelling of the same.
    let shifted = Label { owner: "cellar.note".into(), name: "sdb".into(), ..label() };
    assert!(!Sealed { label: shifted, ..one }.is_signed_by(&KEYS.vault.verifying()));
}

#[test]
fn any_flipped_bit_is_refused() {
    let json = serde_json::to_vec(&sealed_as(label())).unwrap();
    for bit in 0..json.len() * 8 {
        let mut flipped = json.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let read = serde_json::from_slice::<Sealed>(&flipped);
        if let Ok(sealed) = read {
            let refused = opened(&sealed).is_err();
            assert!(refused, "bit {bit} of {}", String::from_utf8_lossy(&flipped));
        }
    }
}

#[test]
fn its_json_is_the_contract() {
    let value = serde_json::to_value(sealed_as(label())).unwrap();
    let keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["v", "label", "recipient", "ciphertext", "signature"]);
    assert_eq!(value["v"], 1);
    assert_eq!(value["label"]["owner"], "cellar.notes");
    let mut newer = value;
    newer["v"] = 2.into();
    let error = serde_json::from_value::<Sealed>(newer).unwrap_err().to_string();
    assert!(error.contains("version 2"), "{error}");
}

#[test]
fn nothing_that_can_be_printed_holds_the_secret() {
    let sealed = sealed_as(label());
    let mut printed = format!("{sealed:?}{:#?}{}", sealed, serde_json::to_string(&sealed).unwrap());
    for label in [Label { version: 1, ..label() }, Label { node: "cellar".into(), ..label() }] {
        printed += &format!("{0:?}{0}", opened(&sealed_as(label)).unwrap_err());
    }
    printed += &format!("{:?}", opened(&sealed).unwrap());
    for leak in [SENTINEL.to_owned(), BASE64.encode(SENTINEL.as_bytes())] {
        assert!(!printed.contains(&leak));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_secret_under_any_label(
        texts in proptest::array::uniform5(any::<String>()),
        version in any::<u64>(),
        plain in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let [mesh, node, owner, name, id] = texts;
        let label = Label { mesh, node, owner, name, id, version };
        let secret = Secret::new(plain);
        let sealed = KEYS.vault.seal_for(label.clone(), &KEYS.attic.public(), &secret).unwrap();
        let read: Sealed = serde_json::from_str(&serde_json::to_string(&sealed).unwrap()).unwrap();
        prop_assert_eq!(&read, &sealed);
        let Label { mesh, node, owner, name, .. } = &label;
        let expect = Expect { mesh, node, owner, name, at_least_version: version };
        let back = read.open(&KEYS.attic, &KEYS.vault.verifying(), &expect).unwrap();
        prop_assert_eq!(back.expose(), secret.expose());
    }
}

//! What is sealed to one key opens with that key alone.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn opens_to_what_was_sealed_and_only_with_its_key(plain in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let key = SealingKey::generate();
        let sealed = seal(&key.public(), &plain).unwrap();
        let opened = key.open(&sealed).unwrap();
        prop_assert_eq!(opened.expose(), &plain[..]);
        prop_assert!(SealingKey::generate().open(&sealed).is_err());
    }
}

#[test]
fn keys_are_kept_as_text() {
    let key = SealingKey::generate();
    let again = SealingKey::from_text(&key.to_text()).unwrap();
    assert_eq!(again.public(), key.public());
    let with_newline = Secret::from(format!("{}\n", key.to_text().expose_text().unwrap()));
    assert_eq!(SealingKey::from_text(&with_newline).unwrap().public(), key.public());
    assert!(SealingKey::from_text(&Secret::from("age1nothing".to_owned())).is_err());
}

#[test]
fn a_recipient_has_one_spelling() {
    let recipient = SealingKey::generate().public();
    let text = recipient.to_string();
    assert_eq!(text.parse::<Recipient>().unwrap(), recipient);
    assert!(text.to_uppercase().parse::<Recipient>().is_err());
    assert!(format!("{text} ").parse::<Recipient>().is_err());
    assert_eq!(serde_json::to_string(&recipient).unwrap(), format!("\"{text}\""));
}

#[test]
fn what_is_printed_holds_no_key_and_no_plaintext() {
    let key = SealingKey::generate();
    let private = key.to_text();
    let sealed = seal(&key.public(), b"sentinel-4d2").unwrap();
    let printed = format!("{key:?} {sealed:?} {}", serde_json::to_string(&sealed).unwrap());
    assert!(!printed.contains("sentinel-4d2"));
    assert!(!printed.contains(private.expose_text().unwrap()));
}

//! A signature holds for one key and one message, and keys come back from their texts.

use super::*;
use crate::SystemRandom;

fn key() -> SigningKey {
    SigningKey::generate(&mut SystemRandom).unwrap()
}

#[test]
fn signs_and_checks() {
    let (ours, other) = (key(), key());
    let signature = ours.sign(b"what was said");
    assert!(ours.verifying().has_signed(b"what was said", &signature));
    assert!(!ours.verifying().has_signed(b"what was Said", &signature));
    assert!(!other.verifying().has_signed(b"what was said", &signature));
}

#[test]
fn both_halves_are_kept_as_text() {
    let ours = key();
    let again = SigningKey::from_text(&ours.to_text()).unwrap();
    assert_eq!(again.verifying(), ours.verifying());
    let public = ours.verifying().to_string();
    assert_eq!(public.parse::<VerifyingKey>().unwrap(), ours.verifying());
    for wrong in ["", "mesh-verifying-key-", "mesh-verifying-key-00", &public.to_uppercase(), &public[1..]] {
        assert!(wrong.parse::<VerifyingKey>().is_err(), "{wrong}");
    }
}

#[test]
fn a_fingerprint_is_of_the_public_half() {
    let ours = key();
    assert_eq!(ours.verifying().id(), ours.verifying().clone().id());
    assert_ne!(ours.verifying().id(), key().verifying().id());
    assert_eq!(ours.verifying().id().to_string().len(), 32);
}

#[test]
fn debug_holds_no_private_half() {
    let ours = key();
    let text = ours.to_text();
    let private = text.expose_text().unwrap().strip_prefix(PRIVATE).unwrap();
    assert!(!format!("{ours:?}{:?}", ours.verifying()).contains(private));
}

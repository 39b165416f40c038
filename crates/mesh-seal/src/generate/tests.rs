//! Made secrets are of their alphabet, of their length, and favour no character.

use std::collections::BTreeMap;

use super::*;

/// Every byte in turn, so that an alphabet's bias shows exactly.
struct Counting(u8);

impl Randomness for Counting {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        for byte in bytes {
            *byte = self.0;
            self.0 = self.0.wrapping_add(1);
        }
        Ok(())
    }
}

const ALL: [Alphabet; 3] = [Alphabet::Alphanumeric, Alphabet::Hex, Alphabet::Base64url];

#[test]
fn every_character_is_equally_likely() {
    for alphabet in ALL {
        let size = alphabet.characters().len();
        // One turn of all bytes holds each character 256 / size times; what is left over is rejected.
        let turn = (256 / size) * size;
        let made = secret(&mut Counting(0), turn, alphabet).unwrap();
        let mut seen = BTreeMap::<u8, usize>::new();
        made.expose().iter().for_each(|&c| *seen.entry(c).or_default() += 1);
        assert_eq!(seen.len(), size, "{alphabet:?}");
        assert!(seen.values().all(|&n| n == 256 / size), "{alphabet:?}: {seen:?}");
    }
}

#[test]
fn only_the_alphabets_characters_and_the_length_asked_for() {
    for alphabet in ALL {
        for length in [16, 17, 64, 255, 256] {
            let made = secret(&mut SystemRandom, length, alphabet).unwrap();
            assert_eq!(made.len(), length);
            assert!(made.expose().iter().all(|c| alphabet.characters().contains(c)));
        }
    }
}

#[test]
fn lengths_outside_are_refused() {
    for length in [0, 15, 257] {
        let refused = secret(&mut SystemRandom, length, Alphabet::Hex);
        assert!(matches!(refused, Err(NoRandomness::Length { length: l }) if l == length));
    }
}

#[test]
fn no_two_are_alike() {
    let one = secret(&mut SystemRandom, 32, Alphabet::Alphanumeric).unwrap();
    let other = secret(&mut SystemRandom, 32, Alphabet::Alphanumeric).unwrap();
    assert_ne!(one.expose(), other.expose());
    assert_ne!(random_id(&mut SystemRandom).unwrap(), random_id(&mut SystemRandom).unwrap());
    assert_eq!(random_id(&mut Counting(0)).unwrap(), "0001020304050607");
}

#[test]
fn alphabets_are_written_as_in_a_manifest() {
    let text = serde_json::to_string(&ALL).unwrap();
    assert_eq!(text, r#"["alphanumeric","hex","base64url"]"#);
}

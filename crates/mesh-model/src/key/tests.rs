//! Any text is one token, any token is one text.

use proptest::prelude::*;

use super::*;

#[test]
fn the_example_of_the_contract() {
    assert_eq!(encode_token("shell:zsh:normal"), "shell=3Azsh=3Anormal");
    assert_eq!(encode_token("a=b.c"), "a=3Db=2Ec");
    assert_eq!(encode_token("é"), "=C3=A9");
}

#[test]
fn what_encodes_more_than_it_needs_is_out_of_shape() {
    for token in ["=61", "shell=3azsh", "a=", "a=3", "=FF", "a.b", "a b", "", "=+1", "é"] {
        assert!(decode_token(token).is_err(), "{token:?} should be out of shape");
    }
}

proptest! {
    #[test]
    fn every_text_comes_back(text in "\\PC{1,80}|.{1,40}") {
        let token = encode_token(&text);
        prop_assert!(token.bytes().all(|b| is_plain(b) || b == b'='));
        prop_assert_eq!(decode_token(&token).unwrap(), text);
    }

    #[test]
    fn every_token_that_reads_is_the_one_spelling(token in "[a-zA-Z0-9=._-]{0,24}") {
        if let Ok(text) = decode_token(&token) {
            prop_assert_eq!(encode_token(&text), token);
        }
    }
}

#[test]
fn keys_come_back() {
    fn same<K: FromStr<Err = KeyError> + fmt::Display>(key: &str) {
        assert_eq!(key.parse::<K>().map(|k| k.to_string()), Ok(key.to_owned()));
    }
    same::<ModuleKey>("cellar.notes");
    same::<NeedKey>("cellar.notes.bound.db");
    same::<NeedKey>("cellar.notes.access.notes=40attic=2Ehttp");
    same::<CollectKey>("cellar.shell=3Azsh=3Anormal.notes");
    same::<BoundKey>("cellar.notes.postgres-database.db");
    same::<BoundKey>("cellar.notes.route");
    same::<CredentialKey>("cellar.notes.db");
    same::<CredentialKey>("cellar.notes.secret=2Eadmin");
}

#[test]
fn a_key_of_another_shape_says_so() {
    assert!(matches!("cellar".parse::<ModuleKey>(), Err(KeyError::Parts { have: 1, .. })));
    assert!(matches!("cellar.notes.confg.title".parse::<NeedKey>(), Err(KeyError::Kind(_))));
    assert!(matches!("Cellar.notes".parse::<ModuleKey>(), Err(KeyError::Name(_))));
    assert!("cellar.notes.route.route".parse::<BoundKey>().is_err(), "a second spelling of one key");
}

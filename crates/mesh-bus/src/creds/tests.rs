//! Tests of credentials as a text.

use super::*;
use crate::jwt;

fn creds(account: &Account) -> Creds {
    let (signer, key) = (KeyPair::new_account(), UserKey::new());
    let token =
        jwt::user(&signer, &key.public(), &account.to_string(), 1_700_000_000, None, &Default::default());
    Creds::new(account.clone(), token, key)
}

#[test]
fn the_text_says_who_it_is_for() {
    for account in ["attic", "operator=ann", "seat=mesh-vault"] {
        let account: Account = account.parse().unwrap();
        let creds = creds(&account);
        let read = Creds::from_text(&creds.to_text()).unwrap();
        assert_eq!(*read.account(), account);
        assert_eq!(read.token(), creds.token());
        assert_eq!(read.key().seed(), creds.key().seed());
    }
}

#[test]
fn no_secret_shows() {
    let creds = creds(&"attic".parse().unwrap());
    let shown = format!("{creds:?}{:?}", creds.key());
    assert!(!shown.contains(creds.key().seed()));
}

#[test]
fn what_is_no_credentials_is_said() {
    let text = creds(&"attic".parse().unwrap()).to_text().to_string();
    let cases = [
        (String::new(), "the credentials have no token"),
        (text.replace("NATS USER JWT", "X"), "the credentials have no token"),
        (text.replace("NKEY SEED", "X"), "the credentials have no seed"),
        (text.replace(".eyJ", ".!!!"), "the credentials' token cannot be read"),
        (text.replace("\nSU", "\nSX"), "the credentials' seed is not one of a user"),
    ];
    for (text, said) in cases {
        assert_eq!(Creds::from_text(&text).unwrap_err().to_string(), said);
    }
}

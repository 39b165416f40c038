//! A form of our own is known, any other is not; a note fits or says why.

use super::*;

fn cookie_header(cookie: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers
        .insert(COOKIE, format!("other=1; {}; last=2", cookie.split(';').next().unwrap()).parse().unwrap());
    headers
}

#[test]
fn a_cookie_proves_its_session_to_the_key_that_signed_it() {
    let key = Key::from_secret("one secret of some length");
    let session = key.new_session();
    let cookie = key.cookie(&session);
    assert_eq!(key.session(&cookie_header(&cookie)).as_ref(), Some(&session));

    assert_eq!(Key::from_secret("another secret").session(&cookie_header(&cookie)), None);
    let value = cookie.split(';').next().unwrap();
    let (head, last) = value.split_at(value.len() - 1);
    let forged = format!("{head}{}", if last == "0" { '1' } else { '0' });
    assert_eq!(key.session(&cookie_header(&forged)), None);
    assert_eq!(key.session(&HeaderMap::new()), None);
}

#[test]
fn a_token_belongs_to_one_session_and_is_no_cookie() {
    let key = Key::from_secret("one secret of some length");
    let (ours, theirs) = (key.new_session(), key.new_session());
    let token = key.token(&ours);
    assert!(key.nonce(&ours, &token).is_some());
    assert_eq!(key.nonce(&theirs, &token), None);
    assert_eq!(key.nonce(&ours, "made.up"), None);
    assert_ne!(key.token(&ours), token, "each page has its own");
    assert_eq!(key.session(&cookie_header(&format!("{}={token}", key.cookie))), None);
}

#[test]
fn two_applications_on_one_host_keep_their_cookies_apart() {
    assert_ne!(Key::from_secret("one").cookie, Key::from_secret("two").cookie);
}

#[test]
fn a_note_is_trimmed_and_must_fit() {
    assert_eq!(fit(" one\r\ntwo \n").unwrap(), "one\ntwo");
    assert_eq!(fit(" \r\n "), Err(Unfit::Empty));
    assert_eq!(fit("a\0b"), Err(Unfit::Nul));
    assert!(fit(&"é".repeat(LONGEST)).is_ok());
    assert_eq!(fit(&"é".repeat(LONGEST + 1)), Err(Unfit::Long { length: LONGEST + 1 }));
}

//! What is a consumers file, and what changes nothing.

use proptest::prelude::*;

use super::*;

const GOOD: &str = r#"{"v":1, "provision":"postgres-database", "provider":{"node":"attic","module":"postgres"}, "later":[1],
 "consumers":[
  {"node":"cellar","module":"notes","local":"db","machine":{"name":"cellar","address":"192.168.1.11","later":1},
   "contribution":{"name":"notes","size":3}, "revision":"4be1", "later":{},
   "credentials":[{"id":"c7f3","secrets":{"password":"pässword"},"later":null}]},
  {"node":"attic","module":"notes","local":"db","machine":{"name":"attic"},"contribution":{}, "revision":"77"}]}"#;

fn parse(text: &str) -> Result<Consumers, ConsumersError> {
    Consumers::parse(Path::new("consumers.json"), text.as_bytes())
}

#[test]
fn reads_what_the_contract_shows_and_passes_over_what_it_does_not_know() {
    let read = parse(GOOD).unwrap();
    let first = &read.consumers[0];
    assert_eq!(read.provision.as_str(), "postgres-database");
    assert_eq!(first.id.to_string(), "db of notes@cellar");
    assert_eq!(first.contribution.text("name"), Some("notes"));
    assert_eq!(first.contribution.text("size"), None);
    let password = FieldName::try_from("password".to_owned()).unwrap();
    assert_eq!(first.credentials[0].secrets[&password].expose_text(), Some("pässword"));
    assert!(read.consumers[1].credentials.is_empty());
}

#[test]
fn says_what_is_wrong_with_each_file_that_is() {
    let cases = [
        ("", "is empty"),
        (" \n", "is empty"),
        (&GOOD[..GOOD.len() - 40], "ends in the middle"),
        ("{\"v\":1,}", "not JSON"),
        ("[]", "not of the shape"),
        (r#"{"v":2,"all":"new"}"#, "of version 2"),
        (&GOOD.replace("\"cellar\",\"module\"", "\"Not A Node\",\"module\""), "not of the shape"),
        (&GOOD.replace(r#""password":"pässword""#, r#""password":17"#), "not of the shape"),
        (
            &GOOD.replace(r#""node":"attic","module":"notes""#, r#""node":"cellar","module":"notes""#),
            "db of notes@cellar twice",
        ),
        (&GOOD.replace("c7f3", ""), "id is not"),
        (&GOOD.replace("\"revision\":\"77\"", "\"revision\":77"), "not of the shape"),
        (&GOOD.replace("\"revision\":\"77\"", "\"other\":77"), "not of the shape"),
    ];
    for (text, said) in cases {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}\nshould say: {said}");
    }
}

#[test]
fn no_error_and_no_debug_quotes_a_secret() {
    let sentinel = "S3ntinel";
    let good = GOOD.replace("pässword", sentinel);
    assert!(!format!("{:?}", parse(&good).unwrap()).contains(sentinel));
    let bad = [
        good.replace(r#"{"password":"S3ntinel"}"#, "\"S3ntinel\""),
        good.replace(r#""password":"S3ntinel""#, r#""PASSWORD":"S3ntinel""#),
        good.replace(r#""id":"c7f3""#, r#""id":"S3nti nel""#),
        good.replace(r#""revision":"4be1""#, r#""revision":["S3ntinel"]"#),
    ];
    for text in bad {
        let error = parse(&text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(sentinel), "{error:?}");
    }
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("consumers.json");
    std::fs::File::create(&path).unwrap().set_len(LIMIT + 1).unwrap();
    assert!(matches!(Consumers::read(&path), Err(ConsumersError::TooLarge { .. })));
    assert!(matches!(Consumers::read(&folder.path().join("none")), Err(ConsumersError::Missing { .. })));
}

proptest! {
    #[test]
    fn every_beginning_of_a_file_is_refused(end in 0..GOOD.len()) {
        prop_assume!(GOOD.is_char_boundary(end));
        prop_assert!(parse(&GOOD[..end]).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Consumers::parse(Path::new("x"), &bytes);
    }
}

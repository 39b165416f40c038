//! What is a host, and what is none.

use proptest::prelude::*;

use super::*;

#[test]
fn a_name_has_one_spelling() {
    for text in ["notes.example.org", "Notes.Example.ORG", "notes.example.org."] {
        assert_eq!(text.parse::<HostName>().unwrap().as_str(), "notes.example.org");
        assert_eq!(Authority::parse(text).unwrap().host, "notes.example.org");
    }
}

#[test]
fn what_a_client_sends_is_one_host_and_at_most_one_port() {
    let cases = [
        ("a", Ok(("a", None))),
        ("a:80", Ok(("a", Some(80)))),
        ("a:", Ok(("a", None))),
        ("a.:8080", Ok(("a", Some(8080)))),
        ("a_b.c", Ok(("a_b.c", None))),
        ("127.0.0.1:1", Ok(("127.0.0.1", Some(1)))),
        ("[::1]", Ok(("[::1]", None))),
        ("[::1]:8080", Ok(("[::1]", Some(8080)))),
        ("", Err(HostError::Empty)),
        (".", Err(HostError::Empty)),
        (":80", Err(HostError::Empty)),
        ("a..b", Err(HostError::Label)),
        ("a..", Err(HostError::Label)),
        ("-a", Err(HostError::Label)),
        ("a-", Err(HostError::Label)),
        ("a b", Err(HostError::Character)),
        (" a", Err(HostError::Character)),
        ("a,b", Err(HostError::Character)),
        ("a/b", Err(HostError::Character)),
        ("a?b", Err(HostError::Character)),
        ("a#b", Err(HostError::Character)),
        ("a%41", Err(HostError::Character)),
        ("user@a", Err(HostError::Character)),
        ("user:pass@a", Err(HostError::Port)),
        ("a:80:81", Err(HostError::Port)),
        ("a:+80", Err(HostError::Port)),
        ("a:65536", Err(HostError::Port)),
        ("a:80 ", Err(HostError::Port)),
        ("a\0", Err(HostError::Character)),
        ("é.example.org", Err(HostError::Character)),
        ("[::1", Err(HostError::Character)),
        ("[::1]x", Err(HostError::Character)),
        ("[::g]", Err(HostError::Character)),
        ("[fe80::1%eth0]", Err(HostError::Character)),
    ];
    for (text, expected) in cases {
        let read = Authority::parse(text);
        let read = read.as_ref().map(|authority| (authority.host.as_ref(), authority.port)).map_err(|e| *e);
        assert_eq!(read, expected, "{text:?}");
    }
}

#[test]
fn lengths_have_limits() {
    let label = "a".repeat(63);
    assert!(label.parse::<HostName>().is_ok());
    assert_eq!(format!("{label}a").parse::<HostName>(), Err(HostError::TooLong));
    let long = [label.as_str(); 4].join(".");
    assert_eq!(long.len(), 255);
    assert_eq!(long.parse::<HostName>(), Err(HostError::TooLong));
    assert!(long[2..].parse::<HostName>().is_ok());
}

proptest! {
    /// Whatever is read as a host is found under the name that a route would have for it.
    #[test]
    fn a_client_and_a_route_agree(text in "[a-zA-Z0-9._:@ -]{0,20}") {
        if let (Ok(sent), Ok(name)) = (Authority::parse(&text), text.parse::<HostName>()) {
            prop_assert_eq!(sent.host.as_ref(), name.as_str());
            prop_assert_eq!(sent.port, None);
        }
    }

    /// Reading what was read changes nothing.
    #[test]
    fn one_spelling(text in "\\PC{0,40}") {
        if let Ok(sent) = Authority::parse(&text) {
            let again = Authority::parse(&sent.host).unwrap();
            prop_assert_eq!(&again.host, &sent.host);
        }
    }
}

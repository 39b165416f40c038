//! The verifier is the one of the standard.

use super::*;

fn secret(text: &str) -> Secret {
    Secret::from(text.to_owned())
}

fn role(name: &str) -> RoleName {
    RoleName::observed(name.to_owned())
}

/// RFC 7677, section 3: the exchange of `user` with password `pencil`, from which both keys follow.
#[test]
fn agrees_with_the_example_of_the_standard() {
    let salt = BASE64.decode(b"W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    let salted = stretch(b"pencil", &salt);
    let said = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    let server_key = mac(&salted, b"Server Key");
    let signature = mac(&server_key, said.as_bytes());
    assert_eq!(BASE64.encode(&signature), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    let verifier = verifier(b"pencil", &salt);
    assert!(verifier.expose().starts_with("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"));
    assert!(verifier.expose().ends_with(&BASE64.encode(&server_key)));
}

#[test]
fn is_a_pure_function_of_superuser_role_and_password() {
    let make = |superuser, name, password| {
        Verifiers::new(&secret(superuser)).verifier(&role(name), &secret(password))
    };
    let one = make("s", "r", "p");
    assert_eq!(one, make("s", "r", "p"));
    for other in [make("t", "r", "p"), make("s", "q", "p"), make("s", "r", "o")] {
        assert_ne!(one, other);
    }
}

#[test]
fn is_made_only_where_the_server_has_another() {
    let mut verifiers = Verifiers::new(&secret("s"));
    let (role, password) = (role("r"), secret("p"));
    let verifier = verifiers.unless_there(&role, &password, None).unwrap();
    let there = Some(verifiers.digest(verifier.expose()));
    assert_eq!(verifiers.unless_there(&role, &password, there), None);
    verifiers.keep(&BTreeSet::new());
    assert_eq!(verifiers.unless_there(&role, &password, there), None, "computed anew, and the same");
    assert!(verifiers.unless_there(&role, &secret("rotated"), there).is_some());
}

#[test]
fn a_password_is_prepared_as_the_server_does() {
    assert_eq!(*prepared("e\u{301}".as_bytes()), "é".as_bytes());
    assert_eq!(*prepared(b"p@s/s:w?#%"), b"p@s/s:w?#%");
    assert_eq!(*prepared("a\u{7f}".as_bytes()), b"a\x7f", "not allowed there, so as it is");
}

#[test]
fn is_not_shown() {
    assert_eq!(format!("{:?}", verifier(b"p", b"salt")), "Verifier(..)");
}

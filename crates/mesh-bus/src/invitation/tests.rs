//! An invitation is read as it was written, and what was changed in it is noticed.

use mesh_seal::{SigningKey, SystemRandom};

use super::*;
use crate::authority::Authority;

/// One for a node, as a controller would have it.
fn invitation() -> Invitation {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::open(folder.path(), time::OffsetDateTime::now_utc).unwrap();
    let key = UserKey::new();
    let invitee = Invitee::Node("cellar".parse().unwrap());
    let answer = InviteAnswer {
        v: V1,
        mesh: "home".parse().unwrap(),
        urls: vec!["tls://192.168.1.10:7422".to_owned()],
        ca: Fingerprint::of(b"a certificate"),
        signer: SigningKey::generate(&mut SystemRandom).unwrap().verifying().id(),
        token: authority.admit(&Account::Invited(invitee.clone()), &key.public(), None),
        until: Timestamp::new(time::macros::datetime!(2030-01-01 12:00 UTC)),
        joined: false,
    };
    Invitation::new(invitee, answer, key)
}

#[test]
fn it_is_read_as_it_was_written() {
    let one = invitation();
    let text = one.to_text();
    let broken: String =
        text.as_bytes().chunks(60).map(|line| String::from_utf8_lossy(line) + "\n").collect();
    for text in [&*text, &broken] {
        let again = Invitation::from_text(text).unwrap();
        assert_eq!(again.to_text(), one.to_text());
        assert_eq!(
            (again.mesh, again.invitee, again.until),
            (one.mesh.clone(), one.invitee.clone(), one.until)
        );
        assert_eq!(again.creds.account().to_string(), "invited=cellar");
    }
    let shown = format!("{one:?}");
    assert!(!shown.contains(one.creds.key().seed()), "{shown}");
}

#[test]
fn one_that_is_mistyped_is_told_from_one_that_is_forged() {
    let text = invitation().to_text();
    assert_eq!(Invitation::from_text("SUACS").unwrap_err(), InvitationError::Other);
    assert_eq!(Invitation::from_text("mesh1-").unwrap_err(), InvitationError::NotWhole);
    assert_eq!(Invitation::from_text(&text[..text.len() - 7]).unwrap_err(), InvitationError::NotWhole);
    for at in (PREFIX.len()..text.len()).step_by(97) {
        let other = if &text[at..=at] == "A" { "B" } else { "A" };
        let mistyped = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        assert_eq!(Invitation::from_text(&mistyped).unwrap_err(), InvitationError::NotWhole, "at {at}");
    }
}

#[test]
fn the_token_of_one_node_is_not_that_of_another() {
    let mut one = invitation();
    one.invitee = Invitee::Node("attic".parse().unwrap());
    let error = Invitation::from_text(&one.to_text()).unwrap_err();
    assert!(matches!(error, InvitationError::Forged { .. }), "{error:?}");
    one.invitee = Invitee::Operator("cellar".parse().unwrap());
    let error = Invitation::from_text(&one.to_text()).unwrap_err();
    assert!(matches!(error, InvitationError::Forged { .. }), "{error:?}");
}

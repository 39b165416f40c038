//! What is a name and what is not.

use super::*;

fn accepted<T: std::str::FromStr>(texts: &[&str]) {
    for text in texts {
        assert!(text.parse::<T>().is_ok(), "{text:?} should be accepted");
    }
}

fn refused<T: std::str::FromStr>(texts: &[&str]) {
    for text in texts {
        assert!(text.parse::<T>().is_err(), "{text:?} should be refused");
    }
}

#[test]
fn a_label_is_a_dns_label() {
    let long = "a".repeat(63);
    accepted::<NodeName>(&["a", "attic", "3d", "my-node", &long]);
    let longer = "a".repeat(64);
    refused::<NodeName>(&["", "-a", "a-", "A", "a_b", "a.b", "é", "a b", "🙂", &longer]);
}

#[test]
fn an_identifier_begins_with_a_letter() {
    accepted::<LocalName>(&["db", "smtp_host", "a-b", "a1"]);
    refused::<LocalName>(&["", "1a", "_a", "A", "a.b", &"a".repeat(64)]);
}

#[test]
fn a_collection_is_printable() {
    accepted::<CollectionName>(&["shell:zsh:normal", "motd", "été 🙂"]);
    refused::<CollectionName>(&["", "a\nb", "a\0", &"x".repeat(201)]);
}

#[test]
fn a_file_stays_inside() {
    accepted::<FilePath>(&["app.toml", "conf.d/app.toml", ".env", "a..b"]);
    refused::<FilePath>(&["", "/etc/x", "../x", "a/../b", "a//b", "a/", "./a", "a\\b", "a\nb"]);
}

//! Names, and what is kept of a rotation.

use super::*;

#[test]
fn a_name_reads_back() {
    for text in ["notes.db", "postgres.secret=2Esuperuser"] {
        assert_eq!(text.parse::<RotationName>().unwrap().to_string(), text);
    }
    for text in ["notes", "notes.", "notes.secret.x", "Notes.db"] {
        assert!(text.parse::<RotationName>().is_err(), "{text}");
    }
}

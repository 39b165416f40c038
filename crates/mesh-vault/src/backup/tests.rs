//! A backup is read back whole, or not at all.

use super::*;

fn backup() -> Backup {
    let row = |key: &str, value: &'static [u8]| Row { key: key.to_owned(), value: Some(value.into()) };
    let rows = vec![row("pins.attic", b"age1\xff"), row("highest.attic.notes.db", b"7")];
    Backup::of("home", "signer", rows)
}

#[test]
fn what_is_written_is_read_back() {
    let text = backup().to_text();
    assert_eq!(Backup::from_text(&text).unwrap(), backup());
    let empty = Backup::of("home", "signer", vec![]);
    assert_eq!(Backup::from_text(&empty.to_text()).unwrap(), empty);
}

#[test]
fn whatever_is_missing_or_changed_is_noticed() {
    let text = backup().to_text();
    for end in 0..text.len() {
        assert!(Backup::from_text(&text[..end]).is_err(), "cut off after {end} bytes");
    }
    for (line, _) in text.lines().enumerate() {
        let without: String = text
            .lines()
            .enumerate()
            .filter(|(at, _)| *at != line)
            .map(|(_, text)| format!("{text}\n"))
            .collect();
        assert!(Backup::from_text(&without).is_err(), "without line {line}");
    }
    for at in 0..text.len() {
        let mut other = text.clone().into_bytes();
        other[at] ^= 1;
        let Ok(other) = String::from_utf8(other) else { continue };
        assert!(Backup::from_text(&other).is_err(), "byte {at} is another");
    }
}

#[test]
fn of_a_newer_program_is_said() {
    let mut newer = backup();
    newer.about.v = 2;
    assert!(matches!(Backup::from_text(&newer.to_text()), Err(BackupError::Shape { found: 2 })));
}

#[test]
fn what_is_put_aside_never_takes_the_place_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let first = put_aside(folder.path(), &backup().rows).unwrap();
    let second = put_aside(folder.path(), &[]).unwrap();
    assert_ne!(first, second);
    let text = std::fs::read_to_string(first).unwrap();
    assert_eq!(Backup::from_text(&text).unwrap().rows, backup().rows);
}

//! A file that was replaced is seen, and one that was not is not read.

use std::fs::File;
use std::io::Write;

use super::*;

fn write(path: &Path, text: &str) {
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn sees_a_replacement_at_once_and_the_same_content_never() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("consumers.json");
    let mut watch = Watch::new(&path);
    let now = Instant::now();
    assert_eq!(watch.look(now), Look::Changed, "the first look, although nothing is there");
    assert_eq!(watch.look(now), Look::Same);
    write(&path, "one");
    assert_eq!(watch.look(now), Look::Changed);
    let new = folder.path().join("new");
    for (text, look) in [("one", Look::Same), ("two", Look::Changed)] {
        write(&new, text);
        std::fs::rename(&new, &path).unwrap();
        assert_eq!(watch.look(now), look, "{text}");
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(watch.look(now), Look::Changed);
    assert_eq!(watch.look(now), Look::Same);
}

#[test]
fn sees_within_a_second_what_size_and_time_do_not_show() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("consumers.json");
    write(&path, "one");
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    let mut watch = Watch::new(&path);
    let now = Instant::now();
    watch.look(now);
    write(&path, "two");
    File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(watch.look(now + Duration::from_millis(100)), Look::Same);
    assert_eq!(watch.look(now + CONTENT_EVERY), Look::Changed);
}

//! The real program against a real PostgreSQL, used as a browser uses it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod postgres;
mod program;

use std::time::{Duration, Instant};

use crate::postgres::Postgres;
use crate::program::{Browser, Notes, get};

/// Waits until `what` holds, and fails where it does not within half a minute.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "not within 30 s: {what}");
        std::thread::sleep(Duration::from_millis(25));
    }
}

#[test]
fn a_note_is_kept_and_shown_to_everybody() {
    let postgres = Postgres::start();
    // Two at once on an empty database: both make the table.
    let (one, two) = (Notes::start(&postgres, "Our <notes>"), Notes::start(&postgres, "The same"));
    one.wait_until_well();
    two.wait_until_well();

    let mut browser = Browser::new(&one);
    let page = browser.open("/");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<title>Our &lt;notes&gt;</title>"), "{}", page.body);
    assert!(page.body.contains("No notes here yet"));

    let kept = browser.write("milk & <b>bread</b>\r\nand 100 %");
    assert_eq!((kept.status, kept.header("location")), (303, Some("/")));
    assert!(browser.open("/").body.contains("milk &amp; &lt;b&gt;bread&lt;/b&gt;\nand 100 %"));
    assert!(get(two.port, "/", "").body.contains("milk &amp;"));

    // The button pressed twice: one note.
    browser.send_again();
    assert_eq!(browser.open("/").body.matches("milk &amp;").count(), 1);
}

#[test]
fn what_is_not_our_form_is_not_kept() {
    let postgres = Postgres::start();
    let notes = Notes::start(&postgres, "Notes");
    notes.wait_until_well();

    let mut browser = Browser::new(&notes);
    browser.open("/");
    let empty = browser.write("  ");
    assert_eq!(empty.status, 422);
    let long = browser.write(&"x".repeat(4001));
    assert_eq!(long.status, 422);
    assert!(long.body.contains("This note has 4001 characters"));
    assert!(long.body.contains(&"x".repeat(4001)), "what was written is not lost");

    // Another site's form: the cookie comes along, the token does not.
    browser.forget_token();
    let forged = browser.write("forged");
    assert_eq!(forged.status, 403);
    assert!(forged.body.contains(">\nforged</textarea>"), "{}", forged.body);
    assert!(browser.open("/").body.contains("No notes here yet"));
}

#[test]
fn older_notes_are_a_page_further() {
    let postgres = Postgres::start();
    let notes = Notes::start(&postgres, "Notes");
    notes.wait_until_well();
    postgres.run("INSERT INTO notes (body, form) SELECT 'note <' || n, n FROM generate_series(1, 60) n");

    let newest = get(notes.port, "/", "").body;
    assert!(
        newest.contains("note &lt;60") && newest.contains("note &lt;11") && !newest.contains("note &lt;10<")
    );
    let (_, rest) = newest.split_once("href=\"").expect("a link to the older notes");
    let older = get(notes.port, &rest[..rest.find('"').unwrap()], "").body;
    assert!(
        older.contains("note &lt;10<") && older.contains("note &lt;1<") && !older.contains("Older notes")
    );
}

#[test]
fn it_outlives_its_database_and_stops_when_told() {
    let mut postgres = Postgres::start();
    let mut notes = Notes::start(&postgres, "Notes");
    notes.wait_until_well();
    let mut browser = Browser::new(&notes);
    browser.open("/");
    assert_eq!(browser.write("before").status, 303);

    browser.open("/");
    postgres.kill();
    wait_until("notes says that it is not well", || get(notes.port, "/health", "").status == 503);
    let away = browser.write("kept in the page");
    assert_eq!(away.status, 503);
    assert!(
        away.body.contains("cannot reach its database") && away.body.contains("kept in the page</textarea>")
    );

    postgres.restart();
    notes.wait_until_well();
    assert_eq!(browser.write("after").status, 303);
    let page = browser.open("/").body;
    assert!(page.contains("before") && page.contains("after") && !page.contains("kept in the page"));

    let log = notes.stop();
    assert!(!log.contains(postgres::PASSWORD), "the password is in the log: {log}");
    assert!(log.contains("stopping"), "{log}");
}

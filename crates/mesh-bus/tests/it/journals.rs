//! Journals: in order, one writer at a time, nothing acknowledged is lost.

use bytes::Bytes;
use mesh_bus::Journal;
use mesh_bus::journal::{JournalError, Row};
use mesh_bus::testing::Bus;

fn row(key: &str, value: &'static str) -> Row {
    Row { key: key.to_owned(), value: Some(Bytes::from_static(value.as_bytes())) }
}

fn away(key: &str) -> Row {
    Row { key: key.to_owned(), value: None }
}

async fn rows(journal: &Journal, behind: u64) -> Vec<Row> {
    let end = journal.end().await.unwrap();
    journal.read(behind, end).await.unwrap().into_iter().map(|line| line.row).collect()
}

#[tokio::test]
async fn what_is_appended_is_read_in_order_and_each_row_once() {
    let bus = Bus::start().await;
    let journal = Journal::open(&bus.vault_store().await, "VAULT").await.unwrap();
    assert_eq!(journal.end().await.unwrap(), 0);
    assert_eq!(rows(&journal, 0).await, []);
    let first =
        journal.append(&[row("pins.attic", "a"), row("credentials.attic.notes.db", "1")], 0).await.unwrap();
    assert_eq!(first, 2);
    let second = journal.append(&[row("credentials.attic.notes.db", "2")], first).await.unwrap();
    let third = journal.append(&[away("pins.attic")], second).await.unwrap();
    assert_eq!(rows(&journal, first).await, [row("credentials.attic.notes.db", "2"), away("pins.attic")]);
    assert_eq!(rows(&journal, 0).await, rows(&journal, first).await, "what was replaced is gone");
    assert_eq!(journal.row("pins.attic").await.unwrap().unwrap().sequence, third);
    assert_eq!(journal.row("pins.cellar").await.unwrap(), None);
}

#[tokio::test]
async fn who_does_not_know_the_end_appends_nothing() {
    let bus = Bus::start().await;
    let (one, other) = (bus.vault_store().await, bus.vault_store().await);
    let (one, other) =
        (Journal::open(&one, "VAULT").await.unwrap(), Journal::open(&other, "VAULT").await.unwrap());
    let end = one.append(&[row("a", "1"), row("b", "1")], 0).await.unwrap();
    let taken = other.append(&[row("about.term", "2")], end).await.unwrap();
    for rows in [vec![row("a", "2")], vec![row("a", "2"), row("b", "2"), row("c", "2")]] {
        let refused = one.append(&rows, end).await;
        assert!(matches!(refused, Err(JournalError::Moved { .. })), "{refused:?}");
    }
    assert_eq!(other.end().await.unwrap(), taken);
    assert_eq!(rows(&other, 0).await, [row("a", "1"), row("b", "1"), row("about.term", "2")]);
}

#[tokio::test]
async fn what_was_acknowledged_outlives_kills_of_the_server() {
    let bus = Bus::start().await;
    let journal = Journal::open(&bus.vault_store().await, "VAULT").await.unwrap();
    let mut end = 0;
    for round in 0..3 {
        let kill = bus.kill_server();
        let append = async {
            for i in 0..100 {
                let rows = [row(&format!("r{round}.a{i}"), "1"), row(&format!("r{round}.b{i}"), "1")];
                end = journal.append(&rows, end).await.unwrap();
            }
        };
        tokio::join!(kill, append);
    }
    assert_eq!(journal.end().await.unwrap(), end);
    assert_eq!(rows(&journal, 0).await.len(), 600, "each was appended once");
}

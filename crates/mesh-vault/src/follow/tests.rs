//! A log is begun in pieces that the server takes.

use super::*;

#[test]
fn pieces_are_in_order_and_none_is_too_much() {
    let row =
        |number: usize, size: usize| Row { key: format!("k{number}"), value: Some(vec![0; size].into()) };
    let rows: Vec<Row> = (0..2500).map(|n| row(n, 10)).chain((2500..2600).map(|n| row(n, 60_000))).collect();
    let chunks = chunks(rows.clone());
    assert_eq!(chunks.concat(), rows);
    for chunk in &chunks {
        let size: usize =
            chunk.iter().map(|row| row.key.len() + row.value.as_ref().map_or(0, Bytes::len)).sum();
        assert!(chunk.len() <= journal::MOST && size <= CHUNK, "{} rows of {size} bytes", chunk.len());
    }
    assert!(
        super::chunks(vec![row(0, CHUNK * 2)]).len() == 1,
        "one that is longer is the server's to refuse"
    );
}

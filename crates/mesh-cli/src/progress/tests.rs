//! What is drawn in place.

use super::*;

fn drawn(lines: &[&str], columns: usize) -> Vec<String> {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    rows(&lines, columns).into_iter().map(|(mark, row)| format!("{mark} {row}")).collect()
}

#[test]
fn no_row_runs_over_the_edge() {
    let lines = ["notes@cellar waits for db", "one\ttab", "averyveryverylongword"];
    let rows = drawn(&lines, 16);
    assert_eq!(rows, ["· notes@cellar", "  waits for db", "· one tab", "· averyveryver…"]);
    assert!(rows.iter().all(|row| row.chars().count() < 16));
}

#[test]
fn many_rows_are_cut_short() {
    let lines: Vec<String> = (0..100).map(|number| format!("line {number}")).collect();
    let rows = rows(&lines, 80);
    assert_eq!(rows.len(), MOST);
    assert_eq!(rows[MOST - 1].1, "and more");
}

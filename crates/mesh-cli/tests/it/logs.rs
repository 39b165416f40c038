//! `mesh logs`, from the folders in which nodes keep them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::program::{folder, mesh};

const LOGS: &str = "\
-- .mesh/nodes/attic/logs/postgres/server.log --
one
two
three
-- .mesh/nodes/cellar/logs/notes/server.log --
hello
-- .mesh/nodes/cellar/logs/notes/server.log.1 --
older
";

#[test]
fn the_last_lines_of_each_log_with_whose_they_are() {
    let home = folder(LOGS);
    insta::assert_snapshot!(mesh(home.path(), "logs -n 2"), @r"
    postgres@attic.server | two
    postgres@attic.server | three
    notes@cellar.server   | older
    notes@cellar.server   | hello
    exit 0
    ");
}

#[test]
fn one_log_is_printed_as_it_is() {
    let home = folder(LOGS);
    assert_eq!(mesh(home.path(), "logs postgres -n 2").done(), "two\nthree\n");
    assert_eq!(mesh(home.path(), "logs notes.server --node cellar").done(), "older\nhello\n");
}

#[test]
fn a_log_is_followed() {
    let home = folder(LOGS);
    let mut command = Command::new(env!("CARGO_BIN_EXE_mesh"));
    command.args(["logs", "notes", "-n", "1", "--follow"]).current_dir(home.path()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "hello");
    let log = home.path().join(".mesh/nodes/cellar/logs/notes/server.log");
    let mut log = std::fs::OpenOptions::new().append(true).open(log).unwrap();
    log.write_all(b"half a li").unwrap();
    log.write_all(b"ne\nand one more\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "half a line");
    assert_eq!(lines.next().unwrap().unwrap(), "and one more");
    child.kill().unwrap();
    child.wait().unwrap();
}

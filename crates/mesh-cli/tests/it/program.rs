//! Runs the program, and tells what it did as one text.

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// What one run came to.
pub(crate) struct Ran {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `mesh` with words, in a folder, with nothing to read.
pub(crate) fn mesh(folder: &Path, words: &str) -> Ran {
    let words: Vec<&str> = words.split_whitespace().collect();
    run(folder, &words, "")
}

/// Runs `mesh` with arguments, in a folder, with something to read.
pub(crate) fn run(folder: &Path, arguments: &[&str], input: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mesh"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env_remove("MESH_NATS_SERVER")
        .env("COLUMNS", "200");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that needs no input may have ended before it is written.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ran {
        exit: output.status.code().expect("it ends by itself"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    /// What it printed, where it did what it was asked to.
    pub(crate) fn done(self) -> String {
        assert_eq!(self.exit, 0, "{self}");
        self.out
    }

    /// The one document that it printed.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.out)?;
        for line in self.err.lines() {
            writeln!(f, "{}", format!("2> {line}").trim_end())?;
        }
        writeln!(f, "exit {}", self.exit)
    }
}

/// A folder with files in it: `-- path --` begins each.
pub(crate) fn folder(files: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut rest = files;
    while let Some((_, found)) = rest.split_once("-- ") {
        let (path, text) = found.split_once(" --\n").expect("a path ends in ` --`");
        let end = text.find("\n-- ").map_or(text.len(), |end| end + 1);
        let place = folder.path().join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        put(&place, &text[..end]);
        rest = &text[end..];
    }
    folder
}

/// Writes a file of a test.
#[expect(clippy::disallowed_methods, reason = "nobody else reads the files of a test")]
pub(crate) fn put(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// No line is wider than a terminal of eighty columns.
pub(crate) fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
    }
}

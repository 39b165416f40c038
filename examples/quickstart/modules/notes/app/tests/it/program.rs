//! The program under test, and a browser of a few lines.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::postgres::Postgres;
use crate::wait_until;

pub(crate) struct Notes {
    pub(crate) port: u16,
    child: Child,
    folder: TempDir,
}

impl Notes {
    pub(crate) fn start(postgres: &Postgres, title: &str) -> Notes {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("notes.toml");
        let mut file = std::fs::File::create(&settings).unwrap();
        writeln!(file, "title = '{title}'").unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(env!("CARGO_BIN_EXE_notes"))
            .args(["--listen", &format!("127.0.0.1:{port}"), "--config"])
            .arg(&settings)
            .env_clear()
            .env("DATABASE_URL", postgres.url())
            .env("NOTES_SECRET", format!("a secret of this test {port}"))
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Notes { port, child, folder }
    }

    pub(crate) fn wait_until_well(&self) {
        wait_until("notes is well", || {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
                && get(self.port, "/health", "").status == 200
        });
    }

    /// Asks it to stop, sees that it ends well, and returns what it logged.
    pub(crate) fn stop(&mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keeps a cookie and the last page's token, as a browser does.
pub(crate) struct Browser {
    port: u16,
    cookie: String,
    token: String,
    sent: String,
}

impl Browser {
    pub(crate) fn new(notes: &Notes) -> Browser {
        Browser { port: notes.port, cookie: String::new(), token: String::new(), sent: String::new() }
    }

    pub(crate) fn open(&mut self, path: &str) -> Answer {
        let answer = get(self.port, path, &self.cookie);
        self.remember(&answer);
        answer
    }

    /// Fills in the form and presses the button.
    pub(crate) fn write(&mut self, note: &str) -> Answer {
        self.sent = format!("body={}&token={}", encode(note), encode(&self.token));
        self.send_again()
    }

    pub(crate) fn send_again(&mut self) -> Answer {
        let head = format!(
            "POST / HTTP/1.1\r\nCookie: {}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
            self.cookie,
            self.sent.len()
        );
        let answer = exchange(self.port, &head, &self.sent);
        self.remember(&answer);
        answer
    }

    pub(crate) fn forget_token(&mut self) {
        self.token.clear();
    }

    fn remember(&mut self, answer: &Answer) {
        if let Some(cookie) = answer.header("set-cookie") {
            self.cookie = cookie.split(';').next().unwrap().to_owned();
        }
        if let Some((_, rest)) = answer.body.split_once("name=\"token\" value=\"") {
            self.token = rest.split('"').next().unwrap().to_owned();
        }
    }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    head: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value))
    }
}

pub(crate) fn get(port: u16, path: &str, cookie: &str) -> Answer {
    exchange(port, &format!("GET {path} HTTP/1.1\r\nCookie: {cookie}\r\n"), "")
}

fn exchange(port: u16, head: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "{head}Host: 127.0.0.1\r\nConnection: close\r\n\r\n{body}").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, body: body.to_owned(), head: head.to_owned() }
}

fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

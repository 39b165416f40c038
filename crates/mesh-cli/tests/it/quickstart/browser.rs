//! A browser of a few lines: it keeps the cookie and the last form's token.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::quickstart::until;

/// A browser on one address of this machine.
pub(crate) struct Browser {
    port: u16,
    cookie: String,
    token: String,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    cookie: Option<String>,
}

impl Browser {
    pub(crate) fn new(port: u16) -> Self {
        Self { port, cookie: String::new(), token: String::new() }
    }

    /// Opens the page.
    pub(crate) fn page(&mut self) -> String {
        let answer = self.get("/").unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    /// Opens the page, fills in the form, and presses the button.
    pub(crate) fn write(&mut self, note: &str) {
        self.page();
        let encode = |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
        let form = format!("body={}&token={}", encode(note), encode(&self.token));
        let head = format!(
            "POST / HTTP/1.1\r\nCookie: {}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
            self.cookie,
            form.len()
        );
        let answer = self.exchange(&head, &form).unwrap();
        assert_eq!(answer.status, 303, "{answer:?}");
    }

    /// Waits until the application says that it is well, its database with it.
    pub(crate) fn well(&mut self) {
        until("notes is well", || self.get("/health").ok().filter(|answer| answer.status == 200));
    }

    fn get(&mut self, path: &str) -> std::io::Result<Answer> {
        let head = format!("GET {path} HTTP/1.1\r\nCookie: {}\r\n", self.cookie);
        self.exchange(&head, "")
    }

    fn exchange(&mut self, head: &str, body: &str) -> std::io::Result<Answer> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        write!(stream, "{head}Host: 127.0.0.1\r\nConnection: close\r\n\r\n{body}")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let answer = Answer::of(&text).ok_or(std::io::ErrorKind::InvalidData)?;
        if let Some(cookie) = &answer.cookie {
            self.cookie = cookie.clone();
        }
        if let Some((_, rest)) = answer.body.split_once("name=\"token\" value=\"") {
            self.token = rest.split('"').next().unwrap().to_owned();
        }
        Ok(answer)
    }
}

impl Answer {
    fn of(text: &str) -> Option<Self> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let mut headers = head.lines().filter_map(|line| line.split_once(": "));
        let cookie = headers.find(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        let cookie = cookie.map(|(_, value)| value.split(';').next().unwrap().to_owned());
        Some(Self { status, body: body.to_owned(), cookie })
    }
}

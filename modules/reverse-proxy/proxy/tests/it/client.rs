//! A client of a few lines, which sends any bytes and reads answers strictly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).unwrap();
    }

    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes.as_ref())
    }

    pub(crate) fn get(&mut self, host: &str, path: &str) -> Answer {
        self.try_get(host, path).unwrap()
    }

    pub(crate) fn try_get(&mut self, host: &str, path: &str) -> std::io::Result<Answer> {
        self.try_send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))?;
        self.try_answer(true)
    }

    /// The next answer.
    pub(crate) fn answer(&mut self) -> Answer {
        self.try_answer(true).unwrap()
    }

    /// The head of the next answer, its body still to come.
    pub(crate) fn head(&mut self) -> Answer {
        self.try_answer(false).unwrap()
    }

    pub(crate) fn try_answer(&mut self, with_body: bool) -> std::io::Result<Answer> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line");
        let mut fields = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").expect("a field");
            fields.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        if status == 100 {
            return self.try_answer(with_body);
        }
        let mut answer = Answer { status, fields, body: Vec::new() };
        if with_body {
            answer.body = self.body(&answer)?;
        }
        Ok(answer)
    }

    fn body(&mut self, answer: &Answer) -> std::io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if answer.field("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk()? {
                body.extend(chunk);
            }
        } else if let Some(length) = answer.field("content-length") {
            body.resize(length.parse().unwrap(), 0);
            self.stream.read_exact(&mut body)?;
        } else if answer.status >= 200 && answer.status != 204 && answer.status != 304 {
            self.stream.read_to_end(&mut body)?;
        }
        Ok(body)
    }

    /// The next chunk of a body, or its end.
    pub(crate) fn chunk(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let size = usize::from_str_radix(&self.line()?, 16).expect("a chunk's size");
        if size == 0 {
            while !self.line()?.is_empty() {}
            return Ok(None);
        }
        let mut chunk = vec![0; size];
        self.stream.read_exact(&mut chunk)?;
        assert_eq!(self.line()?, "");
        Ok(Some(chunk))
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.strip_suffix("\r\n").expect("a line that ends as it should").to_owned())
    }

    /// Reads so many bytes, of whatever.
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Whether the other side has closed the connection, and sent nothing more.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => rest.is_empty(),
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

impl Answer {
    /// The value of a field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}
